import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  type GatewayProcess,
  queries,
  spawnGateway,
  startGateway,
} from '../support/gateway.ts';
import { ledgerVerify } from '../support/ledger-verify.ts';
import { callers, type LoadOutcome, type LoadRequest } from '../support/load.ts';
import { randomFrom, tortureSeed } from '../support/seeded.ts';
import { timed } from '../support/undisturbed.ts';

const seed = tortureSeed();
const random = randomFrom(seed);
const upTo = (max: number): number => Math.floor(random() * (max + 1));

const inputPrice = 150_000n;
const outputPrice = 600_000n;
const unit = 100_000_000n;

interface Priced {
  readonly request: LoadRequest;
  readonly cost: bigint;
}

/** A request whose answer costs exactly `cost` picodollars. */
function priced(key: string, prompt: number, completion: number, over: Partial<LoadRequest> = {}): Priced {
  const request = {
    requestId: randomUUID(),
    key,
    stream: random() < 0.5,
    ...over,
    simulate: {
      'prompt-tokens': prompt,
      'completion-tokens': completion,
      'latency-ms': upTo(200),
      'chunk-delay-ms': upTo(3),
    },
  };
  return { request, cost: BigInt(prompt) * inputPrice + BigInt(completion) * outputPrice };
}

const owners = ['race', 'first', 'same', 'turn', 'change'] as const;
type OwnerName = (typeof owners)[number];
const keys = Object.fromEntries(owners.map((owner) => [owner, aKey()])) as Record<OwnerName, string>;
const secondKeyOfSame = aKey();

const race = Array.from({ length: 400 }, () => priced(keys.race, upTo(2000), upTo(500)));
const raceTotal = race.reduce((sum, { cost }) => sum + cost, 0n);
/** Less than half of the total fits. */
const raceAmount = (raceTotal * 45n) / 100n / unit;

type BudgetFile = { readonly amount_10000: number; readonly hard_limit: boolean } | undefined;

function config(upstreamUrl: string, change: BudgetFile, accounting: object = {}): ConfigFile {
  const amounts: Record<OwnerName, BudgetFile> = {
    race: { amount_10000: Number(raceAmount), hard_limit: true },
    first: { amount_10000: 10, hard_limit: true },
    same: { amount_10000: 4, hard_limit: true },
    turn: { amount_10000: 4, hard_limit: true },
    change,
  };
  const budget = (owner: OwnerName) => {
    const given = amounts[owner];
    return given === undefined ? {} : { budget: { cadence: 'monthly', ...given } };
  };
  return basicConfig(upstreamUrl, keys.race, {
    more: {
      users: owners.map((owner) => ({ email: `${owner}@example.com`, name: owner, ...budget(owner) })),
      api_keys: [
        ...owners.map((owner) => ({ name: owner, owner: `user:${owner}@example.com`, value: keys[owner] })),
        { name: 'same-2', owner: 'user:same@example.com', value: secondKeyOfSame },
      ],
      accounting,
    },
  });
}

const database = withDatabase();
const query = queries(database.url);
const load = callers();
const gateways: GatewayProcess[] = [];
let upstream: SimulatedUpstream;

beforeAll(async () => {
  // `gateway_now` starts in the middle of a May, so that no budget window ends while the test runs.
  await query(`create or replace function gateway_now() returns timestamptz language sql volatile as
    'select ''2028-05-10T12:00:00Z''::timestamptz + (clock_timestamp() - ''${new Date().toISOString()}''::timestamptz)'`);
  // A delay between budget decision and commit: anything that the lock does not cover would interleave.
  await query(`create function take_time() returns trigger language plpgsql as
    'begin perform pg_sleep(random() * 0.02); return new; end'`);
  await query(
    'create trigger slow before insert on usage_daily_totals for each row execute function take_time()',
  );
  upstream = await startSimulatedUpstream({ port: 0 });
  const file = config(upstream.url, { amount_10000: 1000, hard_limit: true });
  gateways.push(...(await Promise.all([1, 2, 3].map(() => spawnGateway(file, database.url())))));
});
afterAll(async () => {
  load.close();
  for (const { kill } of gateways) kill();
  await Promise.all(gateways.map(({ exited }) => exited));
  await upstream?.close();
});

const urlOf = (index: number): string => gateways[index % gateways.length]!.url;

const atOnce = (requests: readonly LoadRequest[]): Promise<readonly LoadOutcome[]> =>
  Promise.all(requests.map((request, index) => load.send(urlOf(index), request)));

interface Row {
  readonly request_id: string;
  readonly cost_picousd: string;
  readonly pricing_status: string;
}

const scopeOf = async (owner: OwnerName): Promise<string> =>
  (await query<{ user_id: string }>('select user_id from users where name = $1', [owner]))
    .map(({ user_id }) => `user:${user_id}`)
    .join();

const ledgerOf = async (owner: OwnerName): Promise<readonly Row[]> =>
  query<Row>(
    'select request_id, cost_picousd, pricing_status from usage_cost_events where ownership_scope_key = $1',
    [await scopeOf(owner)],
  );

/** Ledger rows at whose commit the owner's counted spend exceeded the hard budget that was in force then. */
const overshoots = async (owner: OwnerName): Promise<readonly object[]> =>
  query(
    `select e.occurred_at, e.running, b.amount_10000 from (
       select occurred_at, sum(cost_picousd) over (order by occurred_at) as running from usage_cost_events
       where ownership_scope_key = $1 and pricing_status in ('priced', 'legacy_estimated')
     ) e join user_budgets b on 'user:' || b.user_id = $1 and b.created_at <= e.occurred_at
       and (b.deactivated_at is null or e.occurred_at < b.deactivated_at)
     where b.hard_limit and e.running > b.amount_10000 * 100000000::numeric`,
    [await scopeOf(owner)],
  );

/** Blocked costs that fitted into the budget beside the spend at the end of their batch. */
const blockedTooEarly = async (owner: OwnerName): Promise<readonly object[]> =>
  query(
    `select l.request_id from request_logs l join user_budgets b on b.user_id = l.user_id
       and b.created_at <= l.occurred_at and (b.deactivated_at is null or l.occurred_at < b.deactivated_at)
     where 'user:' || l.user_id = $1 and l.metadata_json -> 'accounting' ? 'blocked_cost_usd'
       and b.amount_10000 * 100000000::numeric
         >= (l.metadata_json -> 'accounting' ->> 'blocked_cost_usd')::numeric * 1000000000000
          + (select coalesce(sum(e.cost_picousd), 0) from usage_cost_events e
             where e.ownership_scope_key = $1 and e.occurred_at <= l.occurred_at)`,
    [await scopeOf(owner)],
  );

/** Each request has one log row; a complete answer has one ledger row, any other outcome has none. */
async function everyAnswerIsAccounted(owner: OwnerName, outcomes: readonly LoadOutcome[]): Promise<void> {
  const rows = (await ledgerOf(owner)).map(({ request_id }) => request_id).sort();
  const complete = outcomes.filter(({ fate }) => fate === 'complete').map(({ requestId }) => requestId);
  expect({ seed, rows }).toEqual({ seed, rows: complete.sort() });
  const logs = await query<{ request_id: string }>(
    `select request_id from request_logs where 'user:' || user_id = $1 order by request_id collate "C"`,
    [await scopeOf(owner)],
  );
  expect(logs.map(({ request_id }) => request_id)).toEqual(outcomes.map(({ requestId }) => requestId).sort());
}

/** Every other request got `budget_exceeded`, as a 429 or as the error that ends its stream. */
function othersAreToldOfTheBudget(outcomes: readonly LoadOutcome[]): void {
  for (const { fate, status, code, headers } of outcomes.filter((each) => each.fate !== 'complete')) {
    expect({ seed, code }).toEqual({ seed, code: 'budget_exceeded' });
    expect([fate, status]).toEqual(fate === 'failed' ? ['failed', 200] : ['refused', 429]);
    if (fate !== 'refused') continue;
    expect(headers['x-should-retry']).toBe('false');
    expect(headers['x-gateway-budget-resets-at']).toMatch(/T00:00:00\.000Z$/);
  }
}

describe(`a hard limit under concurrent load, on three gateway processes`, () => {
  it('is not exceeded by 400 concurrent requests: costs that fit have one ledger row, the others get budget_exceeded', async () => {
    const { value: outcomes, ms } = await timed(() => atOnce(race.map(({ request }) => request)));
    othersAreToldOfTheBudget(outcomes);
    await everyAnswerIsAccounted('race', outcomes);
    expect(await overshoots('race')).toEqual([]);
    expect(await blockedTooEarly('race')).toEqual([]);
    const costs = new Map(race.map(({ request, cost }) => [request.requestId, cost]));
    const rows = await ledgerOf('race');
    for (const { request_id, cost_picousd, pricing_status } of rows) {
      expect(pricing_status).toBe('priced');
      expect(BigInt(cost_picousd)).toBe(costs.get(request_id));
    }
    const spent = rows.reduce((sum, { cost_picousd }) => sum + BigInt(cost_picousd), 0n);
    expect(spent).toBeLessThanOrEqual(raceAmount * unit);
    expect(rows.length).toBeGreaterThan(100);
    expect(outcomes.filter(({ fate }) => fate !== 'complete').length).toBeGreaterThan(50);
    expect(ms).toBeLessThan(25_000);
  });

  it('allows exactly the three that fit if the first 50 requests of an owner are concurrent', async () => {
    // each costs 3 of 10 units
    const outcomes = await atOnce(Array.from({ length: 50 }, () => priced(keys.first, 2000, 0).request));
    expect(outcomes.filter(({ fate }) => fate === 'complete')).toHaveLength(3);
    othersAreToldOfTheBudget(outcomes);
    await everyAnswerIsAccounted('first', outcomes);
    expect(await overshoots('first')).toEqual([]);
  });

  it('counts a request id once if 100 concurrent requests with two keys use it, and marks 99 log rows as duplicates', async () => {
    const requestId = randomUUID();
    const outcomes = await atOnce(
      Array.from({ length: 100 }, (_, index) => {
        const key = index % 2 === 0 ? keys.same : secondKeyOfSame;
        return priced(key, 1 + (index % 7), index % 3, { requestId, text: `Body ${index % 5}` }).request;
      }),
    );
    expect(new Set(outcomes.map(({ fate }) => fate))).toEqual(new Set(['complete']));
    expect(await ledgerOf('same')).toHaveLength(1);
    const logs = await query<{ marked: boolean }>(
      `select metadata_json -> 'accounting' -> 'duplicate' is not null as marked from request_logs where request_id = $1`,
      [requestId],
    );
    expect(logs).toHaveLength(100);
    expect(logs.filter(({ marked }) => marked)).toHaveLength(99);
  });
});

describe('duplicate_request_ids: reject, on two gateway processes', () => {
  const strict: GatewayProcess[] = [];
  const sendTo = (index: number, request: LoadRequest) => load.send(strict[index % 2]!.url, request);
  beforeAll(async () => {
    const file = config(upstream.url, undefined, { duplicate_request_ids: 'reject' });
    strict.push(...(await Promise.all([1, 2].map(() => spawnGateway(file, database.url(), ['--no-seed'])))));
  });
  afterAll(async () => {
    for (const { kill } of strict) kill();
    await Promise.all(strict.map(({ exited }) => exited));
  });

  it('accepts one of 100 concurrent requests with the same id; the others and a later one get duplicate_request_id', async () => {
    const requestId = randomUUID();
    const before = upstream.requests();
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        sendTo(index, priced(keys.turn, 5, 5, { requestId, text: `Body ${index % 5}` }).request),
      ),
    );
    expect(upstream.requests() - before).toBe(1);
    expect(outcomes.filter(({ fate }) => fate === 'complete')).toHaveLength(1);
    const others = outcomes.filter(({ fate }) => fate !== 'complete');
    expect(new Set(others.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['409 duplicate_request_id']),
    );
    expect(await ledgerOf('turn')).toHaveLength(1);
    const later = await sendTo(1, priced(keys.turn, 5, 5, { requestId }).request);
    expect([later.status, later.code]).toEqual([409, 'duplicate_request_id']);
    expect(await query('select from request_claims')).toEqual([]);
  });

  it('accepts an id again after a failed request, and rejects it after a successful one', async () => {
    const requestId = randomUUID();
    const { request } = priced(keys.turn, 5, 5, { requestId, stream: false });
    const failed = await sendTo(0, { ...request, simulate: { status: 500 } });
    expect([failed.fate, failed.code]).toEqual(['refused', 'upstream_error']);
    expect((await sendTo(1, request)).fate).toBe('complete');
    expect((await sendTo(0, request)).code).toBe('duplicate_request_id');
  });
});

describe('a budget that changes while requests are in flight', () => {
  it('is enforced in its current form at each commit: lowered, raised, made soft, removed', async () => {
    const reseeding = await startGateway(
      config(upstream.url, { amount_10000: 1000, hard_limit: true }),
      database.url(),
    );
    const asking = new AbortController();
    const outcomes: LoadOutcome[] = [];
    const ask = async (worker: number): Promise<void> => {
      while (!asking.signal.aborted) {
        const { request } = priced(keys.change, upTo(1500), upTo(100));
        outcomes.push(await load.send(worker % 4 === 3 ? reseeding.url : urlOf(worker), request));
      }
    };
    const workers = Array.from({ length: 24 }, (_, worker) => ask(worker));
    const scope = await scopeOf('change');
    const spent = async (): Promise<number> => {
      const [row] = await query<{ units: string }>(
        `select ceil(coalesce(sum(counted_picousd), 0) / 100000000) as units from usage_daily_totals
         where ownership_scope_key = $1`,
        [scope],
      );
      return Number(row?.units);
    };
    // Amounts around the present spend: above it, below it, further above it, soft, just above it, none.
    const change = async (round: number): Promise<void> => {
      const now = await spent();
      const budgets: readonly BudgetFile[] = [
        { amount_10000: now + 30, hard_limit: true },
        { amount_10000: Math.max(0, now - 20), hard_limit: true },
        { amount_10000: now + 60, hard_limit: true },
        { amount_10000: 1, hard_limit: false },
        { amount_10000: now + 10, hard_limit: true },
        undefined,
      ];
      await reseeding.take(config(upstream.url, budgets[round % budgets.length]));
    };
    for (let round = 0; round < 18; round += 1) {
      await change(round);
      await sleep(60);
    }
    await change(0);
    asking.abort();
    await Promise.all(workers);
    await reseeding.stop();
    othersAreToldOfTheBudget(outcomes);
    await everyAnswerIsAccounted('change', outcomes);
    expect({ seed, over: await overshoots('change') }).toEqual({ seed, over: [] });
    const budgets = await query("select from user_budgets where $1 = 'user:' || user_id", [scope]);
    expect(budgets.length).toBeGreaterThan(12);
    expect(outcomes.filter(({ fate }) => fate === 'complete').length).toBeGreaterThan(50);
    expect(outcomes.filter(({ fate }) => fate !== 'complete').length).toBeGreaterThan(20);
  }, 180_000);
});

it('gateway ledger verify reports 0 differences after all tests of this file', async () => {
  const { code, out, err } = await ledgerVerify(database.url());
  expect({ seed, code, err }).toEqual({ seed, code: 0, err: '' });
  expect(out).toMatch(/^\d{3,} priced rows recomputed, 0 differences\.\n$/);
});
