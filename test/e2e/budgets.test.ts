import { describe, expect, it } from '@jest/globals';
import { budgetsScene, codeIn, expectToStop, hard } from './budgets-scene.ts';
import { outcomesOf } from './traces.ts';

const { query, traceOf, gateway, config, accountingBy, ask, spentBy, scopeOf, refusedBefore } =
  budgetsScene();
const closing = accountingBy({ after_block: 'close_window' });

describe('the budget check before the provider', () => {
  it('refuses an owner at or above the amount with 429, without an upstream call or an attempt', async () => {
    expect(await ask('filled')).toMatchObject({ status: 200, calls: 1 });
    expect(await ask('filled')).toMatchObject({ status: 200, calls: 1 });
    const third = await ask('filled');
    await refusedBefore(third);
    expect(JSON.parse(third.text)).toEqual({
      error: {
        message: expect.stringMatching(
          /^Quota exceeded: the daily budget of 0\.0002 USD is used up; it will reset at /,
        ),
        type: 'insufficient_quota',
        param: null,
        code: 'budget_exceeded',
      },
    });
    expect(outcomesOf(gateway(), third.requestId)).toMatchObject([{ outcome: 'budget_error', status: 429 }]);
    expect(await spentBy(await scopeOf('filled'))).toBe(2);
  });

  it('refuses a stream in the same way, as an HTTP error', async () => {
    const answered = await ask('filled', { stream: true });
    await refusedBefore(answered);
    expect(answered.headers.get('content-type')).toContain('application/json');
  });

  it('refuses a request that costs nothing, too', async () => {
    await refusedBefore(await ask('filled', { model: 'free' }));
  });

  it('refuses every request if the amount is 0 with a hard limit', async () => {
    await refusedBefore(await ask('nothing'));
    await refusedBefore(await ask('nothing', { model: 'free' }));
  });

  it.each(['weekly', 'monthly'] as const)('says when a %s window ends', async (owner) => {
    await ask(owner);
    const refused = await ask(owner);
    await refusedBefore(refused);
    const resetsAt = refused.headers.get('x-gateway-budget-resets-at');
    expect(refused.text).toContain(`${owner} budget of 0.0001 USD is used up; it will reset at ${resetsAt}`);
  });

  it('admits the owner of a used-up daily budget again on the next day', async () => {
    await ask('tomorrow');
    await refusedBefore(await ask('tomorrow'));
    const [clock] = await query<{ made: string }>(
      "select pg_get_functiondef('gateway_now'::regproc) as made",
    );
    try {
      await query(
        `create or replace function gateway_now() returns timestamptz language sql volatile
         as $now$ select clock_timestamp() + interval '1 day' $now$`,
      );
      expect(await ask('tomorrow')).toMatchObject({ status: 200 });
      await refusedBefore(await ask('tomorrow'));
    } finally {
      await query(clock?.made ?? '');
    }
    await refusedBefore(await ask('tomorrow'));
  });
});

/** The message if something of the budget is left, but not enough for this answer. */
const wouldPass =
  /^Quota exceeded: the cost of this answer would pass what is left of the daily budget of 0\.0002 USD, which will reset at /;

describe('the budget check after the provider', () => {
  it('does not write a cost that would exceed the amount, and returns 429 instead of the answer', async () => {
    const answered = await ask('block', { model: 'three' });
    expect({ status: answered.status, code: codeIn(answered.text), calls: answered.calls }).toEqual({
      status: 429,
      code: 'budget_exceeded',
      calls: 1,
    });
    expect(JSON.parse(answered.text)).toMatchObject({
      error: { message: expect.stringMatching(wouldPass) },
    });
    expectToStop(answered.headers);
    const { logs, attempts, ledger } = await traceOf(answered.requestId);
    expect(ledger).toEqual([]);
    expect(attempts).toMatchObject([{ status: 'success', status_code: 200, error_code: null }]);
    expect(logs).toMatchObject([
      {
        status_code: 429,
        error_code: 'budget_exceeded',
        provider_key: 'up',
        prompt_tokens: '3000',
        metadata_json: { operation: 'chat_completions', accounting: { blocked_cost_usd: '0.0003' } },
      },
    ]);
    expect(outcomesOf(gateway(), answered.requestId)).toMatchObject([{ outcome: 'budget_error' }]);
    expect(await spentBy(await scopeOf('block'))).toBe(0);
  });

  it('by default still serves requests that fit after a blocked cost', async () => {
    expect(await ask('block', { model: 'three' })).toMatchObject({ status: 429, calls: 1 });
    expect(await ask('block')).toMatchObject({ status: 200 });
    expect(await ask('block')).toMatchObject({ status: 200 });
    await refusedBefore(await ask('block'));
  });

  it('accepts a cost that uses up the budget exactly', async () => {
    expect(await ask('exact', { model: 'three' })).toMatchObject({ status: 200 });
    await refusedBefore(await ask('exact', { model: 'free' }));
    expect(await spentBy(await scopeOf('exact'))).toBe(3);
  });

  it('ends a blocked stream with one structured error chunk and no [DONE]', async () => {
    const { status, text, requestId, calls } = await ask('blockStream', { model: 'three', stream: true });
    expect({ status, calls }).toEqual({ status: 200, calls: 1 });
    const frames = text.trimEnd().split('\n\n');
    const errors = frames.filter((frame) => frame.includes('"error"'));
    expect(errors).toEqual([frames.at(-1)]);
    expect(JSON.parse((errors[0] ?? '').replace('data: ', ''))).toEqual({
      error: {
        message: expect.stringMatching(wouldPass),
        type: 'insufficient_quota',
        param: null,
        code: 'budget_exceeded',
      },
    });
    expect(frames.some((frame) => frame.includes('simulated answer'))).toBe(true);
    expect(text).not.toContain('[DONE]');
    const { logs, attempts, ledger } = await traceOf(requestId);
    expect(ledger).toEqual([]);
    expect(attempts).toMatchObject([{ status: 'success', stream: true }]);
    expect(logs).toMatchObject([
      { status_code: 429, metadata_json: { stream: true, accounting: { blocked_cost_usd: '0.0003' } } },
    ]);
  });

  it('serves and writes exactly as many concurrent requests as fit', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask('crowd', { stream: index % 2 === 0 })),
    );
    const served = answers.filter(({ status, text }) => status === 200 && !text.includes('budget_exceeded'));
    expect(served).toHaveLength(5);
    expect(await spentBy(await scopeOf('crowd'))).toBe(5);
    for (const answer of answers) {
      const { logs, ledger } = await traceOf(answer.requestId);
      expect(logs).toHaveLength(1);
      expect(ledger).toHaveLength(served.includes(answer) ? 1 : 0);
    }
  });

  it('never counts requests that are unpriced or have no usage', async () => {
    for (let round = 0; round < 3; round += 1) {
      expect(await ask('uncounted', { model: 'unpriced' })).toMatchObject({ status: 200 });
      expect(await ask('uncounted', { model: 'no-usage', stream: true })).toMatchObject({ status: 200 });
    }
    expect(await spentBy(await scopeOf('uncounted'))).toBe(0);
    expect(await ask('uncounted')).toMatchObject({ status: 200 });
  });

  it('counts nothing for an upstream failure', async () => {
    expect(await ask('other', { model: 'fails' })).toMatchObject({ status: 502 });
    expect(await spentBy(await scopeOf('other'))).toBe(0);
  });
});

describe('a soft limit', () => {
  it('blocks nothing, and every cost is counted', async () => {
    for (let round = 0; round < 3; round += 1) expect(await ask('soft')).toMatchObject({ status: 200 });
    expect(await ask('soft', { model: 'three', stream: true })).toMatchObject({ status: 200 });
    expect(await spentBy(await scopeOf('soft'))).toBe(6);
  });
});

describe('after_block: close_window', () => {
  it('refuses all requests of an owner after a blocked cost until its budget changes', async () => {
    expect(await ask('close', { at: closing() })).toMatchObject({ status: 200 });
    expect(await ask('close', { model: 'three', at: closing() })).toMatchObject({ status: 429, calls: 1 });
    const shut = await ask('close', { at: closing() });
    await refusedBefore(shut);
    expect(shut.text).toContain('an earlier answer would have passed what was left of the daily budget');
    await refusedBefore(await ask('close', { model: 'free', stream: true, at: closing() }));
    await closing().take(
      config({ close: { budget: hard(3) } }, { accounting: { after_block: 'close_window' } }),
    );
    expect(await ask('close', { at: closing() })).toMatchObject({ status: 200 });
    expect(await spentBy(await scopeOf('close'))).toBe(2);
    await closing().take(config({}, { accounting: { after_block: 'close_window' } }));
  });
});
