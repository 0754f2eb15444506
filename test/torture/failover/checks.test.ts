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

describe('what the failover drill counts', () => {
  const found = (rows: readonly ReturnType<typeof aRow>[], tries: readonly Try[], limit = 10n ** 20n) =>
    checkTables(
      { ledger: rows, logged: new Set(tries.map(({ requestId }) => requestId)) },
      tries,
      new Set(['one', 'two', 'three']),
      [{ owner: 'hard', picodollars: limit }],
    );

  it('is right where every whole answer has its row; a row of a request that failed is told apart', () => {
    const tries = [aTry('one', { fate: 'refused' }), aTry('one'), aTry('two', { fate: 'cut' })];
    expect(found([aRow('one'), aRow('two')], tries)).toEqual({ problems: [], rows: 2, unseen: 1 });
  });

  it.each([
    ['a lost row', [], [aTry('one')], /without a ledger row: one/],
    ['a doubled row', [aRow('one'), aRow('one')], [aTry('one')], /more than one ledger row: one/],
    ['a row that nobody sent', [aRow('three')], [], /nobody sent: three/],
    ['a row that the upstream never saw', [aRow('four')], [aTry('four')], /never reached the upstream: four/],
    ['another cost', [aRow('one', { cost_picousd: '1' })], [aTry('one')], /another owner or cost.*one/],
    ['a row without a price', [aRow('one', { pricing_status: 'unpriced' })], [aTry('one')], /another owner/],
    ['a caller left waiting', [], [aTry('two', { fate: 'hung' })], /without an answer.*two/],
  ])('is wrong with %s', (_, rows, tries, problem) => {
    expect(found(rows, tries).problems).toEqual([expect.stringMatching(problem)]);
  });

  it('is wrong with a hard limit that was overshot by a picodollar', () => {
    const cost = costOf(aTry('one'));
    expect(found([aRow('one')], [aTry('one')], cost).problems).toEqual([]);
    expect(found([aRow('one')], [aTry('one')], cost - 1n).problems).toEqual([
      expect.stringMatching(/hard spent/),
    ]);
  });

  it('is the longest time between two whole answers, the fault in it', () => {
    const answers = [100, 200, 5_200, 5_300].map((endedAt) => aTry('one', { endedAt }));
    const failed = aTry('one', { fate: 'refused', endedAt: 3_000 });
    expect(longestWait([...answers.slice(0, 2), failed, ...answers.slice(2)], 250)).toBe(5_000);
  });

  it('is told at quantiles', () => {
    expect([0.5, 0.99].map((share) => quantile([3, 1, 2, 4], share))).toEqual([3, 4]);
  });
});
