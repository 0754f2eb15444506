import { describe, expect, it } from '@jest/globals';
import { checkTables, longestWait, quantile } from './checks.ts';
import { costOf, type Try } from './load.ts';

const owner = { name: 'hard', key: 'gwk_a.b' };
const aTry = (requestId: string, over: Partial<Try> = {}): Try => ({
  requestId,
  owner,
  stream: false,
  promptTokens: 3,
  completionTokens: 2,
  fate: 'complete',
  code: undefined,
  startedAt: 0,
  endedAt: 1,
  ...over,
});
const aRow = (request_id: string, over: object = {}) => ({
  request_id,
  owner: 'hard',
  pricing_status: 'priced',
  cost_picousd: String(costOf(aTry(request_id))),
  ...over,
});

describe('the checks of the failover drill', () => {
  const found = (rows: readonly ReturnType<typeof aRow>[], tries: readonly Try[], limit = 10n ** 20n) =>
    checkTables(
      { ledger: rows, logged: new Set(tries.map(({ requestId }) => requestId)) },
      tries,
      new Set(['one', 'two', 'three']),
      [{ owner: 'hard', picodollars: limit }],
    );

  it('report no problem if every complete answer has its row, and count rows of failed requests separately', () => {
    const tries = [aTry('one', { fate: 'refused' }), aTry('one'), aTry('two', { fate: 'cut' })];
    expect(found([aRow('one'), aRow('two')], tries)).toEqual({ problems: [], rows: 2, unseen: 1 });
  });

  it.each([
    ['a missing ledger row', [], [aTry('one')], /without a ledger row: one/],
    ['a duplicate row', [aRow('one'), aRow('one')], [aTry('one')], /more than one ledger row: one/],
    ['a row without a request', [aRow('three')], [], /nobody sent: three/],
    ['a row without an upstream request', [aRow('four')], [aTry('four')], /never reached the upstream: four/],
    ['a wrong cost', [aRow('one', { cost_picousd: '1' })], [aTry('one')], /another owner or cost.*one/],
    ['an unpriced row', [aRow('one', { pricing_status: 'unpriced' })], [aTry('one')], /another owner/],
    ['a request without an answer', [], [aTry('two', { fate: 'hung' })], /without an answer.*two/],
  ])('report %s', (_, rows, tries, problem) => {
    expect(found(rows, tries).problems).toEqual([expect.stringMatching(problem)]);
  });

  it('report spend one picodollar above a hard limit, and not spend equal to it', () => {
    const cost = costOf(aTry('one'));
    expect(found([aRow('one')], [aTry('one')], cost).problems).toEqual([]);
    expect(found([aRow('one')], [aTry('one')], cost - 1n).problems).toEqual([
      expect.stringMatching(/hard spent/),
    ]);
  });

  it('measure the longest wait between two complete answers, across a failed one between them', () => {
    const answers = [100, 200, 5_200, 5_300].map((endedAt) => aTry('one', { endedAt }));
    const failed = aTry('one', { fate: 'refused', endedAt: 3_000 });
    expect(longestWait([...answers.slice(0, 2), failed, ...answers.slice(2)], 250)).toBe(5_000);
  });

  it('compute the quantiles 0.5 and 0.99', () => {
    expect([0.5, 0.99].map((share) => quantile([3, 1, 2, 4], share))).toEqual([3, 4]);
  });
});
