import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { outcomesOf, tracesIn } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
let upstream: SimulatedUpstream;
let gateway: TestGateway;
let rejecting: TestGateway;
let closing: TestGateway;

/** At 0.10 USD per million tokens, 1000 prompt tokens cost 0.0001 USD: one unit of `amount_10000`. */
const costing = (id: string, units: number, more = '') => ({
  id,
  routes: [
    {
      provider: 'up',
      upstream_model: 'simulated-fast',
      extra_headers: {
        'x-simulate': `usage=last&prompt-tokens=${units * 1000}&completion-tokens=0&${more}`,
      },
    },
  ],
});

const unitPicousd = 100_000_000n;

const hard = (amount_10000: number, more: object = {}) => ({
  cadence: 'daily',
  amount_10000,
  hard_limit: true,
  ...more,
});

/** One owner for each story, so that no story pays for another. */
const budgets = {
  filled: hard(2),
  nothing: hard(0),
  block: hard(2),
  blockStream: hard(2),
  exact: hard(3),
  soft: hard(1, { hard_limit: false }),
  twice: hard(1),
  other: hard(1),
  reject: hard(100),
  close: hard(2),
  crowd: hard(5),
  uncounted: hard(1),
  tomorrow: hard(1),
  weekly: hard(1, { cadence: 'weekly' }),
  monthly: hard(1, { cadence: 'monthly' }),
  changing: hard(1),
};
type Owner = keyof typeof budgets;

const keys = new Map<string, string>();
const keyOf = (name: string): string => {
  const key = keys.get(name) ?? aKey();
  keys.set(name, key);
  return key;
};

function config(over: Partial<Record<Owner, object | undefined>> = {}, more: ConfigFile = {}): ConfigFile {
  const owners = Object.keys(budgets) as Owner[];
  return basicConfig(upstream.url, keyOf('plain'), {
    more: {
      models: [
        costing('coin', 1),
        costing('three', 3),
        costing('free', 0),
        costing('slow', 1, 'latency-ms=300'),
        costing('fails', 1, 'status=500'),
        { id: 'unpriced', routes: [{ provider: 'up', upstream_model: 'simulated-other' }] },
        costing('no-usage', 0, 'usage=none'),
      ],
      pricing: {
        overrides: [
          {
            provider: 'up',
            model: 'simulated-fast',
            input_usd_per_million: '0.10',
            output_usd_per_million: '0',
          },
        ],
      },
      teams: [
        { id: 'shared', budget: hard(2) },
        { id: 'empty', budget: hard(0) },
      ],
      service_accounts: [{ id: 'ci', team: 'shared' }],
      users: [
        ...owners.map((owner) => ({ email: `${owner}@example.com`, budget: budgets[owner], ...over[owner] })),
        { email: 'member@example.com', team: 'empty' },
      ],
      api_keys: [
        ...owners.map((owner) => ({
          name: owner,
          owner: `user:${owner}@example.com`,
          value: keyOf(owner),
        })),
        { name: 'twice-2', owner: 'user:twice@example.com', value: keyOf('twice-2') },
        { name: 'team', owner: 'team:shared', value: keyOf('team') },
        { name: 'account', owner: 'service_account:ci', value: keyOf('account') },
        { name: 'member', owner: 'user:member@example.com', value: keyOf('member') },
      ],
      ...more,
    },
  });
}

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  gateway = await startGateway(config(), database.url());
  rejecting = await startGateway(
    config({}, { accounting: { duplicate_request_ids: 'reject' } }),
    database.url(),
  );
  closing = await startGateway(config({}, { accounting: { after_block: 'close_window' } }), database.url());
});
afterAll(async () => {
  for (const each of [gateway, rejecting, closing]) await each?.stop();
  await upstream?.close();
});

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly requestId: string;
  /** Calls that reached the upstream meanwhile. */
  readonly calls: number;
}

interface Asked {
  readonly model?: string;
  readonly requestId?: string;
  readonly stream?: boolean;
  readonly at?: TestGateway;
}

async function ask(
  name: string,
  { model = 'coin', requestId = randomUUID(), stream = false, at = gateway }: Asked = {},
): Promise<Answered> {
  const before = upstream.requests();
  const answer = await fetch(`${at.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${keyOf(name)}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    text,
    headers: answer.headers,
    requestId,
    calls: upstream.requests() - before,
  };
}

const codeIn = (text: string): unknown => (JSON.parse(text) as { error?: { code?: unknown } }).error?.code;

/** Counted spend of a scope in units, from the ledger and from its day totals: the two must agree. */
async function spentBy(scopeLike: string): Promise<number> {
  const [row] = await query<{ ledger: string; days: string }>(
    `select coalesce((select sum(cost_picousd) from usage_cost_events where ownership_scope_key like $1), 0) as ledger,
            coalesce((select sum(counted_picousd) from usage_daily_totals where ownership_scope_key like $1), 0) as days`,
    [scopeLike],
  );
  expect(row?.ledger).toBe(row?.days);
  return Number(BigInt(row?.ledger ?? 0) / unitPicousd);
}

async function scopeOf(owner: Owner): Promise<string> {
  const [row] = await query<{ user_id: string }>('select user_id from users where email = $1', [
    `${owner.toLowerCase()}@example.com`,
  ]);
  return `user:${row?.user_id}`;
}

/** Who is told so does not ask again; it is told when the window ends, to wait only where that is soon. */
function expectToStop(headers: Headers): void {
  expect(headers.get('x-should-retry')).toBe('false');
  expect(headers.get('x-gateway-error')).toBe('budget_exceeded');
  const resetsAt = headers.get('x-gateway-budget-resets-at') ?? '';
  expect(resetsAt).toMatch(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
  const leftMs = Date.parse(resetsAt) - Date.now();
  const retryAfter = headers.get('retry-after');
  if (retryAfter === null) expect(leftMs).toBeGreaterThan(50_000);
  else expect(Math.abs(Number(retryAfter) - leftMs / 1000)).toBeLessThan(10);
}

async function refusedBefore({ status, text, headers, requestId, calls }: Answered): Promise<void> {
  expect({ status, code: codeIn(text), calls }).toEqual({ status: 429, code: 'budget_exceeded', calls: 0 });
  expectToStop(headers);
  const { logs, attempts, ledger } = await traceOf(requestId);
  expect(logs).toMatchObject([{ status_code: 429, error_code: 'budget_exceeded' }]);
  expect([...attempts, ...ledger]).toEqual([]);
}

describe('before the provider', () => {
  it('an owner at or above the amount is turned away, without an upstream call or an attempt', async () => {
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
    expect(outcomesOf(gateway, third.requestId)).toMatchObject([{ outcome: 'budget_error', status: 429 }]);
    expect(await spentBy(await scopeOf('filled'))).toBe(2);
  });

  it('a stream is turned away in the same way, as an HTTP error', async () => {
    const answered = await ask('filled', { stream: true });
    await refusedBefore(answered);
    expect(answered.headers.get('content-type')).toContain('application/json');
  });

  it('even what costs nothing is turned away then', async () => {
    await refusedBefore(await ask('filled', { model: 'free' }));
  });

  it('an amount of 0 with a hard limit blocks everything from the start', async () => {
    await refusedBefore(await ask('nothing'));
    await refusedBefore(await ask('nothing', { model: 'free' }));
  });

  it.each(['weekly', 'monthly'] as const)('a %s window tells its end', async (owner) => {
    await ask(owner);
    const refused = await ask(owner);
    await refusedBefore(refused);
    const resetsAt = refused.headers.get('x-gateway-budget-resets-at');
    expect(refused.text).toContain(`${owner} budget of 0.0001 USD is used up; it will reset at ${resetsAt}`);
  });

  it('a used-up day is open again the day after', async () => {
    await ask('tomorrow');
    await refusedBefore(await ask('tomorrow'));
    const [now] = await query<{ body: string }>(
      "select prosrc as body from pg_proc where proname = 'gateway_now'",
    );
    const setNow = (body: string) =>
      query(
        `create or replace function gateway_now() returns timestamptz language sql volatile as $now$ ${body} $now$`,
      );
    try {
      await setNow("select clock_timestamp() + interval '1 day'");
      expect(await ask('tomorrow')).toMatchObject({ status: 200 });
      await refusedBefore(await ask('tomorrow'));
    } finally {
      await setNow(now?.body ?? '');
    }
    await refusedBefore(await ask('tomorrow'));
  });
});

/** Something is left, but not enough for this answer. */
const wouldPass =
  /^Quota exceeded: the cost of this answer would pass what is left of the daily budget of 0\.0002 USD, which will reset at /;

describe('after the provider', () => {
  it('a cost that would go over the amount is not written: 429 instead of the answer', async () => {
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
    expect(outcomesOf(gateway, answered.requestId)).toMatchObject([{ outcome: 'budget_error' }]);
    expect(await spentBy(await scopeOf('block'))).toBe(0);
  });

  it('as specified, the owner is still under the amount: what fits is served', async () => {
    expect(await ask('block', { model: 'three' })).toMatchObject({ status: 429, calls: 1 });
    expect(await ask('block')).toMatchObject({ status: 200 });
    expect(await ask('block')).toMatchObject({ status: 200 });
    await refusedBefore(await ask('block'));
  });

  it('a cost that fills the budget to the last picodollar fits', async () => {
    expect(await ask('exact', { model: 'three' })).toMatchObject({ status: 200 });
    await refusedBefore(await ask('exact', { model: 'free' }));
    expect(await spentBy(await scopeOf('exact'))).toBe(3);
  });

  it('a stream ends with one structured error chunk and no [DONE]', async () => {
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

  it('of many at once exactly as many are written as fit', async () => {
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

  it('what is unpriced or brings no usage never counts', async () => {
    for (let round = 0; round < 3; round += 1) {
      expect(await ask('uncounted', { model: 'unpriced' })).toMatchObject({ status: 200 });
      expect(await ask('uncounted', { model: 'no-usage', stream: true })).toMatchObject({ status: 200 });
    }
    expect(await spentBy(await scopeOf('uncounted'))).toBe(0);
    expect(await ask('uncounted')).toMatchObject({ status: 200 });
  });

  it('an upstream failure costs nothing', async () => {
    expect(await ask('other', { model: 'fails' })).toMatchObject({ status: 502 });
    expect(await spentBy(await scopeOf('other'))).toBe(0);
  });
});

describe('a soft limit', () => {
  it('blocks nothing, and everything is counted', async () => {
    for (let round = 0; round < 3; round += 1) expect(await ask('soft')).toMatchObject({ status: 200 });
    expect(await ask('soft', { model: 'three', stream: true })).toMatchObject({ status: 200 });
    expect(await spentBy(await scopeOf('soft'))).toBe(6);
  });
});

describe('a request id that is in the ledger already', () => {
  it('is served without a second row: both budget phases are bypassed', async () => {
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
    // Another owner's request of the same id is another request.
    expect(await ask('other', { requestId })).toMatchObject({ status: 200 });
    expect((await traceOf(requestId)).ledger).toHaveLength(2);
  });

  it('many at once with one id: all are served, one is written', async () => {
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

  it('a request that was accounted is turned away before the provider', async () => {
    const requestId = `reject-${randomUUID()}`;
    expect(await ask('reject', { requestId, at: rejecting })).toMatchObject({ status: 200 });
    const again = await ask('reject', { requestId, at: rejecting });
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
    expect(outcomesOf(rejecting, requestId)).toMatchObject([
      { outcome: 'success' },
      { outcome: 'invalid_request' },
    ]);
  });

  it('also while the first one is in flight, whichever family member comes first', async () => {
    const requestId = `flight-${randomUUID()}`;
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        ask('reject', { requestId, model: 'slow', stream: index % 2 === 1, at: rejecting }),
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

  it('a request that failed left no claim: it may be tried again', async () => {
    const requestId = `again-${randomUUID()}`;
    expect(await ask('reject', { requestId, model: 'fails', at: rejecting })).toMatchObject({ status: 502 });
    expect(await ask('reject', { requestId, at: rejecting })).toMatchObject({ status: 200 });
    const [claims] = await query('select count(*)::int as n from request_claims');
    expect(claims).toEqual({ n: 0 });
  });

  it('another owner’s request of the same id is another request', async () => {
    const requestId = `scopes-${randomUUID()}`;
    expect(await ask('reject', { requestId, at: rejecting })).toMatchObject({ status: 200 });
    expect(await ask('soft', { requestId, at: rejecting })).toMatchObject({ status: 200 });
  });
});

describe('after_block: close_window', () => {
  it('a blocked cost shuts the owner out until its budget changes', async () => {
    expect(await ask('close', { at: closing })).toMatchObject({ status: 200 });
    expect(await ask('close', { model: 'three', at: closing })).toMatchObject({ status: 429, calls: 1 });
    await refusedBefore(await ask('close', { at: closing }));
    await refusedBefore(await ask('close', { model: 'free', stream: true, at: closing }));
    await closing.take(
      config({ close: { budget: hard(3) } }, { accounting: { after_block: 'close_window' } }),
    );
    expect(await ask('close', { at: closing })).toMatchObject({ status: 200 });
    expect(await spentBy(await scopeOf('close'))).toBe(2);
    await closing.take(config({}, { accounting: { after_block: 'close_window' } }));
  });
});

describe('a team', () => {
  it('shares its budget with its service accounts', async () => {
    expect(await ask('team')).toMatchObject({ status: 200 });
    expect(await ask('account')).toMatchObject({ status: 200 });
    await refusedBefore(await ask('team'));
    await refusedBefore(await ask('account'));
    expect(await spentBy('team:shared:actor:none')).toBe(2);
  });

  it('does not pay for its members’ own keys', async () => {
    expect(await ask('member')).toMatchObject({ status: 200 });
    expect(await spentBy('team:empty%')).toBe(0);
  });
});

describe('a budget of the file', () => {
  const rows = () =>
    query(
      `select b.cadence, b.amount_10000, b.hard_limit, b.timezone, b.active, b.deactivated_at is null as open
       from user_budgets b join users u using (user_id)
       where u.email = 'changing@example.com' order by b.created_at, b.active`,
    );
  const first = { cadence: 'daily', amount_10000: '1', hard_limit: true, timezone: 'UTC' };

  it('closes into history when it changes, and when it goes', async () => {
    expect(await rows()).toEqual([{ ...first, active: true, open: true }]);
    await ask('changing');
    await refusedBefore(await ask('changing'));

    await gateway.take(config());
    expect(await rows()).toEqual([{ ...first, active: true, open: true }]);

    await gateway.take(
      config({ changing: { budget: hard(5, { cadence: 'weekly', timezone: 'Europe/Paris' }) } }),
    );
    const second = { cadence: 'weekly', amount_10000: '5', hard_limit: true, timezone: 'Europe/Paris' };
    expect(await rows()).toEqual([
      { ...first, active: false, open: false },
      { ...second, active: true, open: true },
    ]);
    expect(await ask('changing')).toMatchObject({ status: 200 });

    await gateway.take(config({ changing: { budget: undefined } }));
    expect(await rows()).toEqual([
      { ...first, active: false, open: false },
      { ...second, active: false, open: false },
    ]);
    for (let round = 0; round < 5; round += 1)
      expect(await ask('changing', { model: 'three' })).toMatchObject({ status: 200 });

    await gateway.take(config());
    expect(await rows()).toHaveLength(3);
    await refusedBefore(await ask('changing'));
  });

  it('leaves the budgets of all other owners as they are', async () => {
    const [row] = await query(
      `select count(*)::int as n from user_budgets b join users u using (user_id)
       where u.email not in ('changing@example.com', 'close@example.com') and not b.active`,
    );
    expect(row).toEqual({ n: 0 });
  });
});
