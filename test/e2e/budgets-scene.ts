import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { aKey, basicConfig, type ConfigFile, type TestGateway, pricedAt } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

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

export const unitPicousd = 100_000_000n;

export const hard = (amount_10000: number, more: object = {}) => ({
  cadence: 'daily',
  amount_10000,
  hard_limit: true,
  ...more,
});

/** One owner per case, so that cases do not spend each other's budgets. */
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

function configOf(
  upstreamUrl: string,
  over: Partial<Record<Owner, object | undefined>>,
  more: ConfigFile,
): ConfigFile {
  const owners = Object.keys(budgets) as Owner[];
  return basicConfig(upstreamUrl, keyOf('plain'), {
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
      pricing: pricedAt('0.10', '0'),
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

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly requestId: string;
  /** Number of upstream calls during the request. */
  readonly calls: number;
}

interface Asked {
  readonly model?: string;
  readonly requestId?: string;
  readonly stream?: boolean;
  readonly at?: TestGateway;
}

export const codeIn = (text: string): unknown =>
  (JSON.parse(text) as { error?: { code?: unknown } }).error?.code;

/** The headers say not to retry and when the window ends; `retry-after` is sent only if that is soon. */
export function expectToStop(headers: Headers): void {
  expect(headers.get('x-should-retry')).toBe('false');
  expect(headers.get('x-gateway-error')).toBe('budget_exceeded');
  const resetsAt = headers.get('x-gateway-budget-resets-at') ?? '';
  expect(resetsAt).toMatch(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
  const leftMs = Date.parse(resetsAt) - Date.now();
  const retryAfter = headers.get('retry-after');
  if (retryAfter === null) expect(leftMs).toBeGreaterThan(50_000);
  else expect(Math.abs(Number(retryAfter) - leftMs / 1000)).toBeLessThan(10);
}

/** Gateways whose callers have budgets. */
export function budgetsScene() {
  const stage = simulatedScene((url) => configOf(url, {}, {}));
  const { upstream } = stage;
  const config = (over: Partial<Record<Owner, object | undefined>> = {}, more: ConfigFile = {}): ConfigFile =>
    configOf(upstream().url, over, more);
  /** A gateway on the same database with other accounting settings. */
  const accountingBy = (accounting: object): (() => TestGateway) =>
    stage.another((url) => configOf(url, {}, { accounting }));

  async function ask(
    name: string,
    { model = 'coin', requestId = randomUUID(), stream = false, at = stage.gateway() }: Asked = {},
  ): Promise<Answered> {
    const before = upstream().requests();
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
      calls: upstream().requests() - before,
    };
  }

  /** Counted spend of a scope in units, from the ledger and from its day totals: the two must agree. */
  async function spentBy(scopeLike: string): Promise<number> {
    const [row] = await stage.query<{ ledger: string; days: string }>(
      `select coalesce((select sum(cost_picousd) from usage_cost_events where ownership_scope_key like $1), 0) as ledger,
              coalesce((select sum(counted_picousd) from usage_daily_totals where ownership_scope_key like $1), 0) as days`,
      [scopeLike],
    );
    expect(row?.ledger).toBe(row?.days);
    return Number(BigInt(row?.ledger ?? 0) / unitPicousd);
  }

  async function scopeOf(owner: Owner): Promise<string> {
    const [row] = await stage.query<{ user_id: string }>('select user_id from users where email = $1', [
      `${owner.toLowerCase()}@example.com`,
    ]);
    return `user:${row?.user_id}`;
  }

  async function refusedBefore({ status, text, headers, requestId, calls }: Answered): Promise<void> {
    expect({ status, code: codeIn(text), calls }).toEqual({ status: 429, code: 'budget_exceeded', calls: 0 });
    expectToStop(headers);
    const { logs, attempts, ledger } = await stage.traceOf(requestId);
    expect(logs).toMatchObject([{ status_code: 429, error_code: 'budget_exceeded' }]);
    expect([...attempts, ...ledger]).toEqual([]);
  }

  return { ...stage, config, accountingBy, ask, spentBy, scopeOf, refusedBefore };
}
