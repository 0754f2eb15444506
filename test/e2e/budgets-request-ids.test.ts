import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type Answered, budgetsScene, codeIn, unitPicousd } from './budgets-scene.ts';
import { outcomesOf } from './traces.ts';

const { query, traceOf, accountingBy, ask, spentBy, scopeOf, refusedBefore } = budgetsScene();
const rejecting = accountingBy({ duplicate_request_ids: 'reject' });

describe('a request id that is in the ledger already', () => {
  it('is served without a second ledger row, and both budget checks are bypassed', async () => {
    const requestId = `twice-${randomUUID()}`;
    expect(await ask('twice', { requestId })).toMatchObject({ status: 200 });
    await refusedBefore(await ask('twice'));
    for (const name of ['twice', 'twice-2'])
      expect(await ask(name, { requestId, model: 'three' })).toMatchObject({ status: 200, calls: 1 });
    const streamed = await ask('twice', { requestId, model: 'three', stream: true });
    expect(streamed.text.endsWith('data: [DONE]\n\n')).toBe(true);
    const { logs, attempts, ledger } = await traceOf(requestId);
    expect(ledger).toMatchObject([{ model_key: 'coin', cost_picousd: String(unitPicousd) }]);
    expect(attempts).toHaveLength(4);
    expect(logs.map((row) => [row['status_code'], row['metadata_json']])).toEqual([
      [200, expect.not.objectContaining({ accounting: expect.anything() })],
      ...Array.from({ length: 3 }, () => [200, expect.objectContaining({ accounting: { duplicate: true } })]),
    ]);
    expect(await spentBy(await scopeOf('twice'))).toBe(1);
    // Ids are unique per owner: the same id from another owner is another request.
    expect(await ask('other', { requestId })).toMatchObject({ status: 200 });
    expect((await traceOf(requestId)).ledger).toHaveLength(2);
  });

  it('sent in concurrent requests: all of them are served, and one ledger row is written', async () => {
    const requestId = `at-once-${randomUUID()}`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask('soft', { requestId })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    const { logs, ledger } = await traceOf(requestId);
    expect(ledger).toHaveLength(1);
    expect(logs).toHaveLength(10);
  });
});

describe('duplicate_request_ids: reject', () => {
  const duplicate = ({ status, text, calls }: Answered) => ({ status, code: codeIn(text), calls });
  const rejected = { status: 409, code: 'duplicate_request_id', calls: 0 };

  it('rejects a request id that is in the ledger with 409, before the provider is called', async () => {
    const requestId = `reject-${randomUUID()}`;
    expect(await ask('reject', { requestId, at: rejecting() })).toMatchObject({ status: 200 });
    const again = await ask('reject', { requestId, at: rejecting() });
    expect(duplicate(again)).toEqual(rejected);
    expect(JSON.parse(again.text)).toMatchObject({
      error: { type: 'invalid_request_error', param: 'x-request-id' },
    });
    const { logs, attempts, ledger } = await traceOf(requestId);
    expect(logs).toMatchObject([
      { status_code: 200 },
      { status_code: 409, error_code: 'duplicate_request_id', provider_key: 'up' },
    ]);
    expect([attempts.length, ledger.length]).toEqual([1, 1]);
    expect(outcomesOf(rejecting(), requestId)).toMatchObject([
      { outcome: 'success' },
      { outcome: 'invalid_request' },
    ]);
  });

  it('serves one of concurrent requests with the same id, streamed or not, and rejects the others with 409', async () => {
    const requestId = `flight-${randomUUID()}`;
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        ask('reject', { requestId, model: 'slow', stream: index % 2 === 1, at: rejecting() }),
      ),
    );
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual([
      '200',
      '409',
      '409',
      '409',
      '409',
    ]);
    const { logs, attempts, ledger } = await traceOf(requestId);
    expect([logs.length, attempts.length, ledger.length]).toEqual([5, 1, 1]);
  });

  it('accepts a request id again after the request failed, and leaves no claim on it', async () => {
    const requestId = `again-${randomUUID()}`;
    expect(await ask('reject', { requestId, model: 'fails', at: rejecting() })).toMatchObject({
      status: 502,
    });
    expect(await ask('reject', { requestId, at: rejecting() })).toMatchObject({ status: 200 });
    const [claims] = await query('select count(*)::int as n from request_claims');
    expect(claims).toEqual({ n: 0 });
  });

  it('accepts the same request id from another owner', async () => {
    const requestId = `scopes-${randomUUID()}`;
    expect(await ask('reject', { requestId, at: rejecting() })).toMatchObject({ status: 200 });
    expect(await ask('soft', { requestId, at: rejecting() })).toMatchObject({ status: 200 });
  });
});
