import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type {
  ActiveBudget,
  Admission,
  AdmissionAsk,
  Ledger,
  SettlementRecord,
  Verdict,
} from '../../application/ports/ledger.ts';
import type { Cadence } from '../../domain/budget/budget.ts';
import { fromAmount10000 } from '../../domain/money/money.ts';
import { type GatewayError, storeUnavailable } from '../../domain/shared/gateway-error.ts';
import { instant, integer, orNull } from './codecs.ts';
import { Collector } from './collector.ts';
import { type DatabaseFault, databaseFault } from './database-fault.ts';
import { admissionRow, chargeRow, logEntry, scopeOf } from './ledger-rows.ts';
import { row } from './pool.ts';
import { storedJson } from './stored-text.ts';

export interface LedgerOptions {
  /** `accounting.after_block: close_window`. */
  readonly closeOnBlock: () => boolean;
  /** Seconds after which a claim of a request that never ended is void: longer than any request may last. */
  readonly claimSeconds: () => number;
  /** Told of each failed statement: the kind of fault and PostgreSQL's own message, never values. */
  readonly onFault: (fault: DatabaseFault, error: unknown) => void;
}

/** A statement that does not come back, on a dead network: its batch is given up after this long. */
const giveUpMs = 12_000;

/** Admission and settlement over PostgreSQL, each in one statement that concurrent requests share. */
export function ledgerStore(pool: DatabasePool, options: LedgerOptions): Ledger {
  const admissions = new Collector<AdmissionAsk, Either<GatewayError, Admission>>({
    run: (asks) => orUnavailable(() => admitBatch(pool, asks, options.claimSeconds()), asks.length, options),
    lane: () => undefined,
    size: ({ requestId }) => 512 + requestId.length,
  });
  const settlements = new Collector<SettlementRecord, Either<GatewayError, Verdict>>({
    run: (records) => settleBatch(pool, records, options),
    lane: ({ charge }) => (charge === undefined ? undefined : scopeOf(charge.caller)),
    size: ({ logged }) => 2048 + 2 * (logged?.log.requestId.length ?? 0),
  });
  return { admit: (ask) => admissions.add(ask), settle: (record) => settlements.add(record) };
}

const cadence = t.keyof({ daily: null, weekly: null, monthly: null });

const admissionResult = t.type({
  ord: t.number,
  already_accounted: t.boolean,
  claimed: t.boolean,
  budget_id: orNull(t.string),
  cadence: orNull<Cadence>(cadence),
  amount_10000: orNull(integer),
  hard_limit: orNull(t.boolean),
  window_start: orNull(instant),
  window_end: orNull(instant),
  spent: orNull(integer),
  closed: orNull(t.boolean),
  database_time: instant,
});
type AdmissionResult = t.TypeOf<typeof admissionResult>;

async function admitBatch(
  pool: DatabasePool,
  asks: readonly AdmissionAsk[],
  claimSeconds: number,
): Promise<readonly Either<GatewayError, Admission>[]> {
  const rows = await pool.any(sql.type(row(admissionResult))`
    select ord, already_accounted, claimed, budget_id, cadence, amount_10000, hard_limit, window_start, window_end,
           spent, closed, database_time
    from gateway_admit(${storedJson(asks.map((ask, index) => admissionRow(ask, index + 1)))}::json, ${claimSeconds})
    order by ord
  `);
  return rows.map((result) =>
    E.right({
      alreadyAccounted: result.already_accounted,
      claimed: result.claimed,
      budget: activeBudget(result),
      databaseTime: result.database_time,
    }),
  );
}

function activeBudget(result: AdmissionResult): ActiveBudget | undefined {
  const { budget_id, cadence, amount_10000, hard_limit, window_start, window_end, spent, closed } = result;
  if (budget_id === null || cadence === null || amount_10000 === null || hard_limit === null)
    return undefined;
  if (window_start === null || window_end === null || spent === null) return undefined;
  return {
    terms: { budgetId: budget_id, cadence, amount: fromAmount10000(amount_10000), hardLimit: hard_limit },
    window: { from: window_start, until: window_end },
    spent,
    closed: closed === true,
  };
}

const verdictResult = t.type({
  ord: t.number,
  verdict: t.keyof({ recorded: null, duplicate: null, blocked: null }),
  budget_id: orNull(t.string),
  cadence: orNull<Cadence>(cadence),
  amount_10000: orNull(integer),
  window_start: orNull(instant),
  window_end: orNull(instant),
  database_time: instant,
});
type VerdictResult = t.TypeOf<typeof verdictResult>;

type Settled = readonly Either<GatewayError, Verdict>[];

/**
 * One transaction for the batch. A batch that fails is judged again in smaller ones, so that a bad row fails one
 * request and a stuck lock fails only those who need it. Every statement may safely run twice: rows have ids.
 */
async function settleBatch(
  pool: DatabasePool,
  records: readonly SettlementRecord[],
  options: LedgerOptions,
  triesLeft = 2,
): Promise<Settled> {
  try {
    return await withinTime(settleOnce(pool, records, options));
  } catch (error) {
    const fault = databaseFault(error);
    options.onFault(fault, error);
    const parts = triesLeft === 0 ? [] : partsAfter(fault, records);
    if (parts.length === 0) return records.map(() => E.left(failureOf(fault)));
    const settled = new Map<SettlementRecord, Either<GatewayError, Verdict>>();
    const again = async (part: readonly SettlementRecord[]): Promise<void> => {
      const verdicts = await settleBatch(pool, part, options, triesLeft - 1);
      part.forEach((record, index) => settled.set(record, verdicts[index] ?? E.left(storeUnavailable())));
    };
    // One by one in arrival order; scopes do not wait for one another.
    if (fault === 'refused') for (const part of parts) await again(part);
    else await Promise.all(parts.map(again));
    return records.map((record) => settled.get(record) ?? E.left(storeUnavailable()));
  }
}

const failureOf = (fault: DatabaseFault): GatewayError =>
  fault === 'refused'
    ? { code: 'internal_error', message: 'The gateway could not record the request.' }
    : storeUnavailable();

/** Lost connection: the same once more. Stuck: each scope on its own. Refused: each record on its own. */
function partsAfter(
  fault: DatabaseFault,
  records: readonly SettlementRecord[],
): readonly (readonly SettlementRecord[])[] {
  if (fault === 'connection') return [records];
  if (fault === 'refused') return records.length === 1 ? [] : records.map((record) => [record]);
  const scopes = Map.groupBy(records, ({ charge }) => (charge === undefined ? '' : scopeOf(charge.caller)));
  return scopes.size === 1 ? [] : [...scopes.values()];
}

async function settleOnce(
  pool: DatabasePool,
  records: readonly SettlementRecord[],
  options: LedgerOptions,
): Promise<Settled> {
  const charges = records.flatMap(({ charge }, index) =>
    charge === undefined ? [] : [chargeRow(charge, index + 1)],
  );
  const logs = records.flatMap(({ logged }, index) =>
    logged === undefined ? [] : [logEntry(logged, index + 1)],
  );
  const releases = records.flatMap(({ release }) => (release === undefined ? [] : [release]));
  const rows = await pool.any(sql.type(row(verdictResult))`
    select ord, verdict, budget_id, cadence, amount_10000, window_start, window_end, database_time
    from gateway_settle(${storedJson(charges)}::json, ${storedJson(logs)}::json,
                        ${sql.array([...releases], 'uuid')}, ${options.closeOnBlock()})
  `);
  const verdicts = new Map(rows.map((result) => [result.ord, verdictOf(result)]));
  return records.map((_, index) => E.right(verdicts.get(index + 1) ?? { kind: 'recorded' }));
}

function verdictOf(result: VerdictResult): Verdict {
  if (result.verdict !== 'blocked') return { kind: result.verdict };
  const { budget_id, cadence, amount_10000, window_start, window_end, database_time } = result;
  if (budget_id === null || cadence === null || amount_10000 === null)
    throw new TypeError('a cost was blocked without a budget');
  return {
    kind: 'blocked',
    budget: { budgetId: budget_id, cadence, amount: fromAmount10000(amount_10000), hardLimit: true },
    window: { from: window_start ?? database_time, until: window_end ?? database_time },
    databaseTime: database_time,
  };
}

async function orUnavailable<A>(
  run: () => Promise<readonly Either<GatewayError, A>[]>,
  count: number,
  options: LedgerOptions,
): Promise<readonly Either<GatewayError, A>[]> {
  try {
    return await withinTime(run());
  } catch (error) {
    options.onFault(databaseFault(error), error);
    return Array.from({ length: count }, () => E.left(storeUnavailable()));
  }
}

async function withinTime<A>(work: Promise<A>): Promise<A> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the database did not answer in time')), giveUpMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
