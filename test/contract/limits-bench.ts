import { randomUUID } from 'node:crypto';
import type {
  Admission,
  AdmissionRequest,
  Ledger,
  SettlementRecord,
} from '../../application/ports/ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { type LimitTerms, type RateLimit, subjectKey } from '../../domain/limits/rate-limit.ts';
import type { SubjectKind } from '../../domain/shared/rate-limit-names.ts';
import { admitted, anAsk, aRecord, pricedAt, type Query } from './ledger-bench.ts';

export const noTerms: LimitTerms = { requests: undefined, tokens: undefined, inFlight: undefined };

/** Sets a limit for a new subject. */
export async function aLimit(
  query: Query,
  terms: Partial<LimitTerms>,
  kind: SubjectKind = 'api_key',
): Promise<RateLimit> {
  const limit = { subject: { kind, id: randomUUID() }, terms: { ...noTerms, ...terms } };
  await setLimit(query, limit);
  return limit;
}

export async function setLimit(query: Query, { subject, terms }: RateLimit): Promise<void> {
  await query(
    `insert into rate_limits (subject_kind, subject_id, requests_per_minute, tokens_per_minute, requests_in_flight)
     values ($1, $2, $3, $4, $5)
     on conflict (subject) do update set requests_per_minute = excluded.requests_per_minute,
       tokens_per_minute = excluded.tokens_per_minute, requests_in_flight = excluded.requests_in_flight`,
    [subject.kind, subject.id, terms.requests, terms.tokens, terms.inFlight],
  );
  await query('insert into rate_limit_windows (subject) values ($1) on conflict do nothing', [
    subjectKey(subject),
  ]);
}

export const limitedAsk = (
  caller: Caller,
  limits: readonly RateLimit[],
  over: Partial<AdmissionRequest> = {},
): AdmissionRequest & { readonly limits: readonly RateLimit[] } => ({
  ...anAsk(caller, { callerChoseRequestId: false, ...over }),
  limits,
});

/** `admitted`, or the limits that are full. */
export function wordsOf({ limits }: Admission): string {
  if (limits === undefined) return 'unlimited';
  return limits.kind === 'admitted'
    ? 'admitted'
    : limits.full.map(({ standing, measure }) => `${standing.limit.subject.kind} ${measure}`).join(', ');
}

/** Admits all requests in one turn of the event loop, so that those of one owner form one batch. */
export const askTogether = async (
  ledger: Ledger,
  asks: readonly AdmissionRequest[],
): Promise<readonly string[]> => (await Promise.all(asks.map((ask) => admitted(ledger, ask)))).map(wordsOf);

/** The settlement of a limited request. */
export function endOf(
  ask: AdmissionRequest & { readonly limits: readonly RateLimit[] },
  tokens: number | undefined,
): SettlementRecord {
  const { requestLogId, requestId, caller, limits } = ask;
  return {
    ...aRecord(caller, pricedAt(1n), { requestLogId, requestId }),
    release: requestLogId,
    limited: tokens === undefined ? undefined : { requestLogId, limits, tokens },
  };
}

/** What a subject has used of its window, according to the tables. */
export async function takenOf(query: Query, { subject }: RateLimit) {
  const [row] = await query<{ requests: string; tokens: string; held: string }>(
    `select requests, tokens, (select count(*) from rate_limit_holds h where h.subject = w.subject) as held
     from rate_limit_windows w where subject = $1`,
    [subjectKey(subject)],
  );
  return { requests: Number(row?.requests), tokens: Number(row?.tokens), held: Number(row?.held) };
}
