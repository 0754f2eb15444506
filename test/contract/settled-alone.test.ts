import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { SettlementRecord } from '../../application/ports/ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aLog,
  aRecord,
  aTeam,
  aUser,
  openLedger,
  type OpenLedger,
  scopeOf,
  settleTogether,
  unit,
  unpriced,
  withClock,
} from './ledger-bench.ts';
import { usageMissing } from './report-rows.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
let ledger: OpenLedger;

beforeAll(async () => {
  ledger = await openLedger(database.url(), { closeOnBlock: () => true, connections: 1 });
  await clock.standAt('2028-02-29T23:59:59.999Z');
});
afterAll(() => ledger.pool.end());

/** All tables with rows of a scope. */
const tables = [
  'usage_cost_events',
  'usage_daily_totals',
  'usage_rollups',
  'request_logs',
  'request_log_tags',
  'request_log_attempts',
  'harness_rollups',
  'tool_cardinality_rollups',
  'blocked_answers',
  'budget_window_closures',
  'budget_alerts',
  'budget_alert_deliveries',
];

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * The rows of a scope as texts, with ids replaced by their index in the list, and the writer by a fixed text.
 */
async function rowsOf(scope: string, ids: readonly string[]): Promise<Readonly<Record<string, string[]>>> {
  const named = (row: string): string =>
    row
      .replaceAll(uuid, (id) => `#${ids.indexOf(id)}`)
      .replace(/"writer": [1-9]\d*/, '"writer": "a session"');
  const found: Record<string, string[]> = {};
  for (const table of tables) {
    const rows = await query<{ row: string }>(
      `select (to_jsonb(t) - 'request_id_sha256')::text as row from ${table} t where ownership_scope_key = $1`,
      [scope],
    );
    found[table] = rows.map(({ row }) => named(row)).sort();
  }
  return found;
}

/** Records of one owner with every possible result, and with a different value in each column. */
function records(caller: Caller): readonly SettlementRecord[] {
  const usage = { promptTokens: 2, completionTokens: 3, totalTokens: 5 };
  const price = { input: 1n, output: 2n, source: 'test' };
  const priced = (cost: bigint) => aRecord(caller, { pricingStatus: 'priced', usage, price, cost });
  const full = (record: ReturnType<typeof aRecord>, at: number) => ({
    ...record,
    logged: {
      ...record.logged,
      log: {
        ...record.logged.log,
        resolvedModelKey: 'resolved',
        latencyMs: 20 + at,
        firstTokenMs: 10 + at,
        usage,
        exposedToolCount: 6,
        invokedToolCount: 7,
        mcp: { serverCount: 8, toolCount: 10, filteredToolCount: 9, toolBytes: 11 },
        userAgent: 'agent',
        harness: { key: 'h', label: 'H' },
        tags: { service: 's', component: 'c', env: 'e', bespoke: [{ key: 'k', value: 'v' }] },
        attempts: [1, 2].map((attemptNumber) => ({
          attemptNumber,
          providerKey: 'up',
          upstreamModel: 'model',
          status: 'success' as const,
          statusCode: 200,
          errorCode: undefined,
          errorDetail: 'detail',
          stream: true,
          startedAt: 1_800_000_000_001,
          completedAt: 1_800_000_000_250,
        })),
      },
    },
  });
  const first = priced(unit);
  const left = aRecord(caller, 9n * unit);
  const log = { ...left.logged.log, statusCode: 499, errorCode: 'client_closed' as const };
  return [
    full(first, 0),
    full(priced((3n * unit) / 4n), 1),
    aRecord(caller, 9n * unit),
    { ...left, logged: { ...left.logged, log } },
    aRecord(caller, 1n, { requestId: first.charge.requestId }),
    aRecord(caller, unpriced),
    { ...aRecord(caller, usageMissing), logged: undefined },
    ...[3, undefined].map((exposedToolCount) => ({
      charge: undefined,
      logged: aLog(caller, { statusCode: 502, errorCode: 'upstream_error', exposedToolCount }),
      release: undefined,
      deferrableTo: undefined,
    })),
  ];
}

it.each([
  ['user', async () => aUser(query, { amount: 4n }), []],
  ['team', async () => (await aTeam(query, { amount: 4n }))[1], ['tool_cardinality_rollups']],
])('records of a %s produce the same rows, settled one by one or in batches', async (_, owner, without) => {
  const settled = async (isAlone: boolean) => {
    const caller = await owner();
    const rounds = [records(caller), records(caller)];
    const verdicts: string[] = [];
    for (const batch of isAlone ? rounds.flat().map((each) => [each]) : rounds)
      verdicts.push(...(await settleTogether(ledger, batch)));
    const ids = [
      ...(scopeOf(caller).match(uuid) ?? []),
      caller.apiKeyId ?? randomUUID(),
      ...rounds
        .flat()
        .flatMap(({ charge, logged }) => [
          charge?.requestLogId ?? logged?.log.requestLogId ?? '',
          charge?.requestId ?? logged?.log.requestId ?? '',
        ]),
    ];
    return { verdicts, rows: await rowsOf(scopeOf(caller), ids) };
  };
  const alone = await settled(true);
  expect(await settled(false)).toEqual(alone);
  const others = ['blocked', 'blocked', 'duplicate'];
  expect(alone.verdicts.filter((verdict) => verdict !== 'recorded')).toEqual([...others, ...others]);
  expect(tables.filter((table) => alone.rows[table]?.length === 0)).toEqual(without);
});
