import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { Client } from 'pg';
import type {
  Admission,
  AdmissionRequest,
  Charge,
  Ledger,
  LoggedRequest,
  SettlementRecord,
  Verdict,
} from '../../application/ports/ledger.ts';
import type { Cadence } from '../../domain/budget/budget.ts';
import { type Caller, ownerOf, ownershipScopeKey } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { RequestLog } from '../../domain/request-log/request-log.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { DatabaseFault } from '../../infrastructure/postgres/database-fault.ts';
import { type GatewayProcess, gatewayProcess } from '../../infrastructure/postgres/gateway-process.ts';
import { type LedgerOptions, ledgerStore } from '../../infrastructure/postgres/ledger-store.ts';
import { openPool, type ServicePool } from '../../infrastructure/postgres/pool.ts';
import { openCluster } from '../../infrastructure/postgres/citus/cluster.ts';
import { shardedLedger } from '../../infrastructure/postgres/citus/sharded-ledger.ts';
import { clockKind, onCitus, clockOnEveryNode } from '../support/citus-database.ts';
import { queries } from '../support/gateway.ts';

/** One unit of `amount_10000`, in picodollars. */
export const unit = 100_000_000n;

export type Query = ReturnType<typeof queries>;

/** A ledger with a pool of its own, as in each gateway process. */
export interface OpenLedger extends Ledger {
  readonly pool: ServicePool;
  /** The process as the database knows it; a heartbeat and a release go to every node. */
  readonly process: GatewayProcess;
  readonly faults: DatabaseFault[];
}

export async function openLedger(
  url: string,
  over: Partial<Omit<LedgerOptions, 'process'>> & {
    readonly connections?: number;
    /** Returns the URL by which another node of a cluster is reached. */
    readonly nodeUrl?: (url: string) => string;
  } = {},
): Promise<OpenLedger> {
  const connections = over.connections ?? 10;
  const pool = await openPool(url, connections);
  const faults: DatabaseFault[] = [];
  const options = {
    closeOnBlock: () => false,
    mailReady: () => false,
    journal: async () => false,
    claimSeconds: () => 60,
    onFault: (fault: DatabaseFault) => void faults.push(fault),
    ...over,
  };
  if (onCitus()) {
    const cluster = await openCluster(pool, url, {
      maxConnections: connections,
      onWriting: () => undefined,
      ...(over.nodeUrl === undefined ? {} : { nodeUrl: over.nodeUrl }),
    });
    const end = async (): Promise<void> => void (await Promise.all([cluster.end(), pool.end()]));
    const beat = async (): Promise<void> => {
      await Promise.all(cluster.nodes().map((node) => node.process.beat()));
    };
    const release: GatewayProcess['release'] = (id) => {
      for (const node of cluster.nodes()) node.process.release(id);
    };
    const process = { ...cluster.coordinator.process, beat, release };
    return { ...shardedLedger(cluster, options), pool: { ...pool, end }, process, faults };
  }
  const process = gatewayProcess(pool, { onWriting: () => undefined });
  return { ...ledgerStore(pool, { process, ...options }), pool, process, faults };
}

/** So many ledgers for the calling suite, each like that of one gateway process. */
export function withLedgers(url: () => string, count = 1): { readonly ledgers: readonly OpenLedger[] } {
  const ledgers: OpenLedger[] = [];
  beforeAll(async () => {
    for (let index = 0; index < count; index += 1) ledgers.push(await openLedger(url()));
  });
  afterAll(async () => {
    for (const { pool } of ledgers) await pool.end();
  });
  return { ledgers };
}

/** The suite's database clock: it is stopped at the time that the test sets, or runs. */
export function withClock(query: Query): {
  readonly standAt: (at: Date | string) => Promise<void>;
  readonly run: () => Promise<void>;
} {
  beforeAll(async () => {
    await query('create table test_clock (at timestamptz)');
    await clockOnEveryNode(query);
    await query('insert into test_clock values (null)');
    await query(`create or replace function gateway_now() returns timestamptz language sql ${clockKind()}
      as 'select coalesce((select at from test_clock), clock_timestamp())'`);
  });
  return {
    // As text: the driver's own of a Date has whole minutes of its zone's offset, and old zones have seconds.
    standAt: async (at) =>
      void (await query('update test_clock set at = $1', [typeof at === 'string' ? at : at.toISOString()])),
    run: async () => void (await query('update test_clock set at = null')),
  };
}

export interface BudgetTerms {
  readonly amount: bigint;
  readonly cadence?: Cadence;
  readonly hard?: boolean;
}

/** A user with a key, and with a hard budget if one is given (`amount` in units of 1e-4 USD). */
export async function aUser(query: Query, budget?: BudgetTerms): Promise<Caller> {
  const [user] = await query<{ user_id: string }>(
    `insert into users (email, name) values ($1, 'U') returning user_id`,
    [`${randomUUID()}@example.com`],
  );
  const userId = user?.user_id ?? '';
  if (budget !== undefined) await setUserBudget(query, userId, budget);
  return {
    apiKeyId: randomUUID(),
    keyOwner: { kind: 'user', userId, requestLoggingEnabled: true },
    allowedModels: [],
  };
}

/** A team with a key of its own, and a service account of that team: one owner, two callers. */
export async function aTeam(query: Query, budget?: BudgetTerms): Promise<readonly [Caller, Caller]> {
  const teamId = `t-${randomUUID()}`;
  await query(`insert into teams (team_id, name) values ($1, 'T')`, [teamId]);
  if (budget !== undefined)
    await query(
      'insert into team_budgets (team_id, cadence, amount_10000, hard_limit) values ($1, $2, $3, $4)',
      [teamId, budget.cadence ?? 'monthly', budget.amount.toString(), budget.hard ?? true],
    );
  const caller = (keyOwner: Caller['keyOwner']): Caller => ({
    apiKeyId: randomUUID(),
    keyOwner,
    allowedModels: [],
  });
  return [
    caller({ kind: 'team', teamId }),
    caller({ kind: 'service_account', serviceAccountId: `sa-${teamId}`, teamId }),
  ];
}

export const userIdOf = ({ keyOwner }: Caller): string => (keyOwner.kind === 'user' ? keyOwner.userId : '');

export const scopeOf = (caller: Caller): string => ownershipScopeKey(ownerOf(caller));

/** Replaces a user's active budget; `undefined` removes it. Takes no lock. */
export async function setUserBudget(
  query: Query,
  userId: string,
  budget: BudgetTerms | undefined,
): Promise<void> {
  await query(
    `update user_budgets set active = false, deactivated_at = gateway_now() where user_id = $1 and active`,
    [userId],
  );
  if (budget !== undefined)
    await query(
      `insert into user_budgets (user_id, cadence, amount_10000, hard_limit) values ($1, $2, $3, $4)`,
      [userId, budget.cadence ?? 'monthly', budget.amount.toString(), budget.hard ?? true],
    );
}

/** A cost of exactly so many picodollars: one prompt token at that price. */
export const pricedAt = (cost: Picodollars): UsageCost => ({
  pricingStatus: 'priced',
  usage: { promptTokens: 1, completionTokens: 0, totalTokens: 1 },
  price: { input: cost, output: 0n, source: 'test' },
  cost,
});

export const unpriced: UsageCost = {
  pricingStatus: 'unpriced',
  usage: { promptTokens: 1_000_000, completionTokens: 1_000_000, totalTokens: 2_000_000 },
  unpricedReason: 'no_catalogue_price',
};

export function aCharge(
  caller: Caller,
  cost: UsageCost | Picodollars,
  over: Partial<Charge> = {},
): Charge & { readonly requestLogId: string } {
  return {
    requestLogId: randomUUID(),
    requestId: randomUUID(),
    caller,
    modelKey: 'fast',
    providerKey: 'up',
    upstreamModel: 'simulated-fast',
    cost: typeof cost === 'bigint' ? pricedAt(cost) : cost,
    ...over,
  };
}

export function aLog(caller: Caller, over: Partial<RequestLog> = {}): LoggedRequest {
  return {
    caller,
    log: {
      requestLogId: randomUUID(),
      requestId: randomUUID(),
      modelKey: 'fast',
      resolvedModelKey: 'fast',
      providerKey: 'up',
      statusCode: 200,
      errorCode: undefined,
      latencyMs: 7,
      firstTokenMs: undefined,
      usage: { promptTokens: 1, completionTokens: 0, totalTokens: 1 },
      exposedToolCount: 0,
      invokedToolCount: 0,
      tags: { service: undefined, component: undefined, env: undefined, bespoke: [] },
      userAgent: undefined,
      harness: { key: 'unknown', label: 'Unknown' },
      metadata: { operation: 'chat_completions' },
      attempts: [],
      ...over,
    },
    blockedCostUsd: undefined,
  };
}

/** The settlement of one request: its charge, and a log row with the same ids. */
export function aRecord(
  caller: Caller,
  cost: UsageCost | Picodollars,
  over: Partial<Charge> = {},
): SettlementRecord & { readonly charge: Charge; readonly logged: LoggedRequest } {
  const charge = aCharge(caller, cost, over);
  const { requestLogId, requestId } = charge;
  return {
    charge,
    logged: { ...aLog(caller, { requestLogId, requestId }), blockedCostUsd: '0.5' },
    release: undefined,
    deferrableTo: undefined,
  };
}

export const anAsk = (caller: Caller, over: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  requestLogId: randomUUID(),
  requestId: randomUUID(),
  callerChoseRequestId: true,
  caller,
  claim: false,
  ...over,
});

/** The kind of a verdict, or the code of the failure. */
export const wordOf = (settled: Either<GatewayError, Verdict>): string =>
  E.isLeft(settled) ? settled.left.code : settled.right.kind;

export async function admitted(ledger: Ledger, ask: AdmissionRequest): Promise<Admission> {
  const admission = await ledger.admit(ask);
  if (E.isLeft(admission)) throw new Error(admission.left.code);
  return admission.right;
}

/**
 * Settles all records in one turn of the event loop, so that they form one batch, and returns the verdicts.
 */
export const settleTogether = async (
  ledger: Ledger,
  records: readonly SettlementRecord[],
): Promise<readonly string[]> =>
  (await Promise.all(records.map((record) => ledger.settle(record)))).map(wordOf);

/** Counted spend of a scope, summed from its rows and from its day totals. */
export async function spendOf(query: Query, scope: string): Promise<{ rows: bigint; days: bigint }> {
  const [found] = await query<{ rows: string; days: string }>(
    `select (select coalesce(sum(cost_picousd), 0) from usage_cost_events
             where ownership_scope_key = $1 and pricing_status in ('priced', 'legacy_estimated'))::text as rows,
            (select coalesce(sum(counted_picousd), 0) from usage_daily_totals
             where ownership_scope_key = $1)::text as days`,
    [scope],
  );
  return { rows: BigInt(found?.rows ?? -1), days: BigInt(found?.days ?? -1) };
}

/** An open transaction on a connection of its own. */
export interface Holder {
  readonly query: (text: string, values?: unknown[]) => Promise<unknown>;
  readonly commit: () => Promise<void>;
  readonly rollBack: () => Promise<void>;
}

export async function holder(url: string): Promise<Holder> {
  const client = new Client(url);
  await client.connect();
  // A failed test leaves the transaction open until the database is dropped.
  client.on('error', () => undefined);
  await client.query('begin');
  const end = (word: string) => async () => {
    await client.query(word);
    await client.end();
  };
  return {
    query: async (text, values) => client.query(text, values),
    commit: end('commit'),
    rollBack: end('rollback'),
  };
}

const waitingFor = (kind: string): string =>
  `select count(*) as waiting from pg_stat_activity
  where wait_event_type = 'Lock' and wait_event = '${kind}' and datname = current_database()`;

const sumOverNodes = (text: string): string =>
  `select sum(result::bigint) as waiting from run_command_on_all_nodes($of$${text}$of$)`;

/**
 * Waits until so many statements wait for a scope's lock, for a table's lock, or for the end of a
 * transaction.
 */
export async function untilWaiting(
  query: Query,
  count: number,
  kind: 'advisory' | 'relation' | 'transactionid' = 'advisory',
): Promise<void> {
  const waitingHere = waitingFor(kind);
  for (let tries = 0; tries < 4000; tries += 1) {
    const [row] = await query<{ waiting: string }>(onCitus() ? sumOverNodes(waitingHere) : waitingHere);
    if (Number(row?.waiting) >= count) return;
    await sleep(5);
  }
  throw new Error('nobody waits for a lock');
}

/** Runs `body` with queries on a connection that is closed afterwards. */
export async function withClient<A>(url: string, body: (ask: Query) => Promise<A>): Promise<A> {
  const client = new Client(url);
  await client.connect();
  try {
    return await body(async (text, values) => (await client.query(text, values)).rows);
  } finally {
    await client.end();
  }
}

/** The numbers of ledger rows and log rows of a record. */
export async function rowsOf(query: Query, record: SettlementRecord): Promise<readonly [number, number]> {
  const id = record.charge?.requestLogId ?? record.logged?.log.requestLogId;
  const count = async (table: string): Promise<number> =>
    (await query(`select from ${table} where request_log_id = $1`, [id])).length;
  return [await count('usage_cost_events'), await count('request_logs')];
}
