import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { sql } from 'slonik';
import type {
  Admission,
  AdmissionRequest,
  Ledger,
  NotRecorded,
  SettlementRecord,
  StoreUnavailable,
  Verdict,
} from '../../application/ports/ledger.ts';
import { scopeOf } from '../../domain/identity/caller.ts';
import { storeUnavailable } from '../../domain/shared/gateway-error.ts';
import {
  type AdmissionOptions,
  admitBatch,
  admitLimitedBatch,
  hasLimits,
  type LimitedAdmission,
} from './admission.ts';
import { Collector, type CollectorOptions, putBack, WaitedTooLong } from './collector.ts';
import { type DatabaseFault, databaseFault, sqlState } from './database-fault.ts';
import { type LedgerPlace, type LedgerPlaces, oneDatabase } from './ledger-place.ts';
import { recordRow } from './ledger-rows.ts';
import type { ServicePool } from './pool.ts';
import { settleRecords, verdictOf } from './settled-verdicts.ts';
import { storedJson } from './stored-text.ts';
import type { BatchTurns } from './batch-turns.ts';
import { withinTime } from './within-time.ts';

export interface LedgerOptions extends AdmissionOptions {
  /** `accounting.after_block: close_window`. */
  readonly closeOnBlock: () => boolean;
  /** Whether mails can be sent, so that alerts queue their deliveries. */
  readonly mailReady: () => boolean;
  /** Stores a record for `replayJournaled` on a durable disk; false when it cannot. */
  readonly journal: (record: string) => Promise<boolean>;
  /** Called for each failed statement: the kind of fault and PostgreSQL's own message, never values. */
  readonly onFault: (fault: DatabaseFault, error: unknown) => void;
}

export interface LedgerStore extends Ledger {
  /** Number of requests that no statement has taken yet. */
  readonly waiting: () => { readonly admission: number; readonly settlement: number };
  /** On shutdown: nothing waits for the database any longer, and records that may be deferred go to the journal. */
  readonly cancelWaits: () => void;
}

/** How often a batch whose connection was lost is tried again. */
const maxTriesAgain = 2;

/** Admission and settlement over PostgreSQL, each in one statement that concurrent requests share. */
export const ledgerStore = (pool: ServicePool, options: LedgerOptions): LedgerStore =>
  ledgerAt(oneDatabase(pool), options, {});

/** Shared by the ledgers of several servers, so that requests gather while a batch of another server is in progress. */
export interface LedgerTurns {
  readonly admissions: BatchTurns;
  readonly settlements: BatchTurns;
}

/** The ledger of one of several servers: only requests whose owners have the same place share a statement. */
export const ledgerOn = (placeOf: LedgerPlaces, options: LedgerOptions, turns: LedgerTurns): LedgerStore =>
  ledgerAt(placeOf, options, {
    requests: { group: ({ caller }) => placeOf(scopeOf(caller)), turns: turns.admissions },
    records: { group: (record) => placeOf(scopeOfRecord(record)), turns: turns.settlements },
  });

/** The scope of a request that leaves no row is unknown. */
const scopeOfRecord = ({ charge, logged }: SettlementRecord): string => {
  const caller = charge?.caller ?? logged?.caller;
  return caller === undefined ? '' : scopeOf(caller);
};

interface Groups {
  readonly requests?: Required<Pick<CollectorOptions<AdmissionRequest, Admitted>, 'group' | 'turns'>>;
  readonly records?: Required<Pick<CollectorOptions<SettlementRecord, Settled>, 'group' | 'turns'>>;
}

function ledgerAt(placeOf: LedgerPlaces, options: LedgerOptions, { requests, records }: Groups): LedgerStore {
  const placeOfBatch = ([first]: readonly AdmissionRequest[]): LedgerPlace =>
    placeOf(first === undefined ? '' : scopeOf(first.caller));
  const placeOfRecord = ([first]: readonly SettlementRecord[]): LedgerPlace =>
    placeOf(first === undefined ? '' : scopeOfRecord(first));
  const unanswered = (why: Error): Either<StoreUnavailable, never> => {
    if (why instanceof WaitedTooLong) options.onFault('late', why);
    return E.left(storeUnavailable());
  };
  const admissions = new Collector<AdmissionRequest, Admitted>({
    run: (batch) => admitting(batch, options, () => admitBatch(placeOfBatch(batch), batch, options)),
    lane: () => undefined,
    size: sizeOfAsk,
    unanswered,
    ...requests,
  });
  // Separate statements, so that requests without limits do not wait for the locks of those with limits.
  const limited = new Collector<LimitedAdmission, Admitted>({
    run: (batch) => admitting(batch, options, () => admitLimitedBatch(placeOfBatch(batch), batch, options)),
    lane: ({ caller }) => scopeOf(caller),
    size: sizeOfAsk,
    unanswered,
    ...requests,
  });
  const settlements = new Collector<SettlementRecord, Settled>({
    run: (batch) => settleBatch(placeOfRecord(batch), batch, options),
    lane: laneOf,
    size: ({ logged }) => 2048 + 2 * (logged?.log.requestId.length ?? 0),
    unanswered,
    ...records,
  });
  return {
    waiting: () => ({ admission: admissions.depth + limited.depth, settlement: settlements.depth }),
    cancelWaits: () => {
      for (const each of [admissions, limited, settlements]) each.cancelWaits();
    },
    admit: async (request) => {
      const isLimited = hasLimits(request);
      const admission = await (isLimited ? limited.add(request) : admissions.add(request));
      // The statement may have taken effect before its answer was lost.
      if (E.isLeft(admission) && (request.claim || isLimited)) options.process.release(request.requestLogId);
      return admission;
    },
    settle: async (record) => {
      const settled = await settlements.add(record);
      if (E.isRight(settled)) {
        if (record.limited !== undefined) options.standings?.spent(record.limited);
        return settled;
      }
      if (settled.left.code === 'store_unavailable' && (await deferred(record, options)))
        return E.right({ kind: 'journaled' });
      // Nothing was accounted, so claim and holds go: a retry must not be refused as a duplicate or as in flight.
      if (record.release !== undefined) options.process.release(record.release);
      return settled;
    },
  };
}

/** Journals the record in the form that `gateway_settle` reads; false if it may not wait there or cannot be kept. */
async function deferred(record: SettlementRecord, { journal }: LedgerOptions): Promise<boolean> {
  if (record.deferrableTo === undefined) return false;
  return journal(storedJson({ at: record.deferrableTo.toISOString(), record: recordRow(record, 1) }));
}

/** Ends the holds of a record's request, where they are not stored with its rows. */
export type EndHolds = (record: Readonly<Record<string, unknown>>) => Promise<void>;

const journaled = t.type({ at: t.string, record: t.UnknownRecord });

/** Settles a journaled record, which is safe even if it was settled before its answer was lost: rows have ids. */
export const replayJournaled =
  (
    placeOf: LedgerPlaces,
    options: Pick<LedgerOptions, 'closeOnBlock' | 'mailReady' | 'onFault'>,
    ended: EndHolds = async () => undefined,
  ) =>
  async (text: string): Promise<'settled' | 'later' | 'refused'> => {
    const parsed = E.tryCatch(
      (): unknown => JSON.parse(text),
      () => 'no JSON',
    );
    const entry = journaled.decode(E.isRight(parsed) ? parsed.right : undefined);
    if (E.isLeft(entry)) return 'refused';
    const { at, record } = entry.right;
    try {
      const place = placeOf(typeof record['scope'] === 'string' ? record['scope'] : '');
      const statement = sql.unsafe`
        select ord from ${place.named('gateway_settle')}(
          ${storedJson([record])}::json, ${releasesOf(record)}, ${options.closeOnBlock()}, ${options.mailReady()},
          ${at}::timestamptz, true)
      `;
      const settle = () =>
        place.query((pool) => withinTime(pool, (connection) => connection.query(statement)));
      await settle().catch((error: unknown) => (isThereAlready(error) ? settle() : Promise.reject(error)));
      await ended(record);
      return 'settled';
    } catch (error) {
      const fault = databaseFault(error);
      options.onFault(fault, error);
      return fault === 'refused' ? 'refused' : 'later';
    }
  };

/** The claim and holds of a journaled record, which are still in place. */
const releasesOf = (record: Readonly<Record<string, unknown>>) =>
  sql.array(typeof record['request_log_id'] === 'string' ? [record['request_log_id']] : [], 'uuid');

/** Records with a charge need their scope's lock; the others need none. */
const laneOf = ({ charge }: SettlementRecord): string | undefined =>
  charge === undefined ? undefined : scopeOf(charge.caller);

type Settled = Either<StoreUnavailable | NotRecorded, Verdict>;

/**
 * `unique_violation`: a row of the batch already exists, and the statement was not told to expect that, or an earlier
 * try wrote it in the meantime: the server continues a statement after its connection is lost.
 */
const isThereAlready = (error: unknown): boolean => sqlState(error) === '23505';

/** Records that an earlier try may have judged, whatever batch they are in now: its answer was lost. */
const maybeJudged = new WeakSet<SettlementRecord>();

/**
 * Settles the batch in one transaction. A batch that fails is judged again: as a whole after a lost connection; one by
 * one, in arrival order, after a refusal, so that a bad row or an unreadable page fails only one request; scope by
 * scope if it was stuck, so that a stuck lock fails only the scopes that need it. Every statement may safely run twice,
 * because rows have ids. Rows of an earlier try are looked up only if there may be one, as each lookup costs time.
 */
async function settleBatch(
  place: LedgerPlace,
  records: readonly SettlementRecord[],
  options: LedgerOptions,
  triesLeft = maxTriesAgain,
): Promise<readonly (Settled | typeof putBack)[]> {
  try {
    return await settleOnce(place, records, options);
  } catch (error) {
    if (isThereAlready(error) && triesLeft > 0) return settleAgain(place, records, options, triesLeft - 1);
    const fault = databaseFault(error);
    options.onFault(fault, error);
    options.process.failed(error);
    if (fault === 'stuck' && new Set(records.map(laneOf)).size > 1) return records.map(() => putBack);
    if (fault === 'connection' && triesLeft > 0) return settleAgain(place, records, options, triesLeft - 1);
    if (!mayBeOfOne.has(fault) || records.length === 1) return records.map(() => E.left(failureOf(fault)));
    const settled: (Settled | typeof putBack)[] = [];
    for (const record of records) settled.push(...(await settleBatch(place, [record], options, triesLeft)));
    return settled;
  }
}

const settleAgain: typeof settleBatch = (place, records, options, triesLeft) => {
  for (const each of records) maybeJudged.add(each);
  return settleBatch(place, records, options, triesLeft);
};

/** Faults of a batch that a single one of its records may have caused. */
const mayBeOfOne: ReadonlySet<DatabaseFault> = new Set(['refused', 'unready']);

const failureOf = (fault: DatabaseFault): StoreUnavailable | NotRecorded =>
  fault === 'refused'
    ? { code: 'internal_error', message: 'The gateway could not record the request.' }
    : storeUnavailable();

async function settleOnce(
  place: LedgerPlace,
  records: readonly SettlementRecord[],
  options: LedgerOptions,
): Promise<readonly Settled[]> {
  const again = records.some((each) => maybeJudged.has(each));
  const releases = records.flatMap(({ release }) => (release === undefined ? [] : [release]));
  const rows = records.map((record, index) => recordRow(record, index + 1));
  const given = rows.length === 1 && !again ? rows[0] : rows;
  const results = await settleRecords.rows(place, [
    storedJson(given),
    releases,
    options.closeOnBlock(),
    options.mailReady(),
    again,
  ]);
  const verdicts = new Map(results.map((result) => [result.ord, verdictOf(result)]));
  return records.map((_, index) => E.right(verdicts.get(index + 1) ?? { kind: 'recorded' }));
}

type Admitted = Either<StoreUnavailable, Admission>;

const sizeOfAsk = ({ requestId }: AdmissionRequest): number => 512 + requestId.length;

/** A stuck batch is tried again lane by lane, so that a stuck lock fails only the requests that need it. */
async function admitting(
  requests: readonly AdmissionRequest[],
  options: LedgerOptions,
  run: () => Promise<readonly Admitted[]>,
): Promise<readonly (Admitted | typeof putBack)[]> {
  try {
    return await run();
  } catch (error) {
    const fault = databaseFault(error);
    options.onFault(fault, error);
    options.process.failed(error);
    const lanes = new Set(requests.filter(hasLimits).map(({ caller }) => scopeOf(caller)));
    return requests.map(() => (fault === 'stuck' && lanes.size > 1 ? putBack : E.left(storeUnavailable())));
  }
}
