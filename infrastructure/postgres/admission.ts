import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import type {
  ActiveBudget,
  Admission,
  AdmissionRequest,
  LimitVerdict,
  StoreUnavailable,
} from '../../application/ports/ledger.ts';
import type { LimitStandings } from '../../application/ports/limit-standings.ts';
import { scopeOf } from '../../domain/identity/caller.ts';
import {
  limitVerdict,
  minuteOf,
  type RateLimit,
  type LimitStanding,
  subjectKey,
} from '../../domain/limits/rate-limit.ts';
import { fromAmount10000 } from '../../domain/money/money.ts';
import { storeUnavailable } from '../../domain/shared/gateway-error.ts';
import { cadence, instantText, int8 } from './codecs.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { LedgerPlace } from './ledger-place.ts';
import { admissionRow, scopeRow } from './ledger-rows.ts';
import { prepared } from './prepared.ts';
import { limitColumns, termsOf } from './rate-limit-rows.ts';
import { storedJson } from './stored-text.ts';

export interface AdmissionOptions {
  /** The process that claims and holds belong to, which also knows whether rows can be written. */
  readonly process: Pick<GatewayProcess, 'id' | 'unwritable' | 'failed' | 'release'>;
  /** Seconds until a claim or hold of a request that never ended becomes void: longer than any request may last. */
  readonly claimSeconds: () => number;
  /** Receives the current standings of rate limits. */
  readonly standings?: Pick<LimitStandings, 'note' | 'spent'>;
  /** Ask only about rate limits, because owners, their budgets and claims are on another server. */
  readonly ownersElsewhere?: boolean;
}

/** A request that is subject to rate limits. */
export type LimitedAdmission = AdmissionRequest & { readonly limits: readonly RateLimit[] };

export const hasLimits = (request: AdmissionRequest): request is LimitedAdmission =>
  request.limits !== undefined && request.limits.length > 0;

const budgetResult = t.type({
  scope: t.string,
  cadence,
  amount_10000: int8,
  hard_limit: t.boolean,
  window_start: instantText,
  window_end: instantText,
  spent: int8,
  closed: t.boolean,
});

/** One row for a whole batch, with its budgets by scope. */
const scopesResult = t.type({
  database_time: instantText,
  read_only: t.boolean,
  budgets: t.array(budgetResult),
});

/** The same, plus the request log ids that are already accounted and those that could not be claimed. */
const admissionResult = t.intersection([
  scopesResult,
  t.type({ accounted: t.array(t.string), unclaimed: t.array(t.string) }),
]);

/** The same, plus the standing of each subject's limit before the batch and the positions of the refused requests. */
const limitedResult = t.intersection([
  admissionResult,
  t.type({
    limits: t.array(
      t.intersection([
        limitColumns,
        t.type({ window_start: instantText, requests: t.number, tokens: t.number, in_flight: t.number }),
      ]),
    ),
    refused: t.array(t.number),
  }),
]);

const admitOwners = prepared(
  t.type({ result: scopesResult }),
  { result: 'json' },
  (named) => `select ${named('gateway_admit_scopes')}($1::text[], $2::uuid[], $3::text[]) as result`,
);

const admit = prepared(
  t.type({ result: admissionResult }),
  { result: 'json' },
  (named) => `select ${named('gateway_admit')}($1::json, $2::json, $3, $4) as result`,
);

const admitLimited = prepared(
  t.type({ result: limitedResult }),
  { result: 'jsonb' },
  (named) =>
    `select ${named('gateway_admit_limited')}($1::json, $2::json, $3, $4, $5::text[], $6::json) as result`,
);

type Admitted = Either<StoreUnavailable, Admission>;

export async function admitBatch(
  place: LedgerPlace,
  requests: readonly AdmissionRequest[],
  options: AdmissionOptions,
): Promise<readonly Admitted[]> {
  if (!requests.some(({ callerChoseRequestId }) => callerChoseRequestId))
    return admissions(
      requests,
      { ...(await admitScopes(place, requests)), accounted: [], unclaimed: [] },
      [],
      options,
    );
  const { scopes, chosen } = admissionTerms(requests);
  const { result } = await admit.row(place, [scopes, chosen, options.claimSeconds(), options.process.id]);
  return admissions(requests, result, [], options);
}

/** Ids that the gateway generated are new, so only the budgets are asked for. */
async function admitScopes(
  place: LedgerPlace,
  requests: readonly AdmissionRequest[],
): Promise<t.TypeOf<typeof scopesResult>> {
  const scopes = scopesOf(requests);
  const { result } = await admitOwners.row(place, [
    scopes.map(({ scope }) => scope),
    scopes.map(({ user_id }) => user_id ?? null),
    scopes.map(({ team_id }) => team_id ?? null),
  ]);
  return result;
}

/** The same as `admitBatch`, for requests with rate limits. */
export async function admitLimitedBatch(
  place: LedgerPlace,
  requests: readonly LimitedAdmission[],
  options: AdmissionOptions,
): Promise<readonly Admitted[]> {
  const { scopes, chosen } = admissionTerms(options.ownersElsewhere === true ? [] : requests);
  const subjects = [
    ...new Map(requests.flatMap(({ limits }) => limits.map((limit) => [keyOf(limit), limit.subject]))),
  ];
  const keys = subjects.map(([key]) => key);
  const placeOf = new Map(keys.map((key, index) => [key, index + 1]));
  const limited = requests.map(({ requestLogId, limits }, index) => ({
    ord: index + 1,
    request_log_id: requestLogId,
    at: limits.map((limit) => placeOf.get(keyOf(limit))),
  }));
  const { result } = await admitLimited.row(place, [
    scopes,
    chosen,
    options.claimSeconds(),
    options.process.id,
    keys,
    storedJson(limited),
  ]);
  const verdicts = verdictsOf(requests, standingsBefore(subjects, result.limits), result.refused);
  for (const { now } of verdicts) options.standings?.note(now, result.database_time);
  return admissions(
    requests,
    result,
    verdicts.map(({ verdict }) => verdict),
    options,
  );
}

const keyOf = ({ subject }: RateLimit): string => subjectKey(subject);

const scopesOf = (requests: readonly AdmissionRequest[]) => [
  ...new Map(requests.map(({ caller }) => [scopeOf(caller), scopeRow(caller)])).values(),
];

const admissionTerms = (requests: readonly AdmissionRequest[]) => ({
  scopes: storedJson(scopesOf(requests)),
  chosen: storedJson(requests.filter(({ callerChoseRequestId }) => callerChoseRequestId).map(admissionRow)),
});

type LimitedResult = t.TypeOf<typeof limitedResult>;

/** The standing of each limit before the batch, by its subject, with the terms in force at the statement. */
const standingsBefore = (
  subjects: readonly (readonly [key: string, subject: RateLimit['subject']])[],
  limits: LimitedResult['limits'],
): Map<string, LimitStanding> =>
  new Map(
    subjects.map(([key, subject], index) => {
      const found = limits[index];
      if (found === undefined) throw new TypeError('the statement says nothing of a limit that was asked');
      return [
        key,
        {
          limit: { subject, terms: termsOf(found) },
          window: minuteOf(found.window_start),
          requests: found.requests,
          tokens: found.tokens,
          inFlight: found.in_flight,
        },
      ];
    }),
  );

/** The statement says which requests were refused; the domain rule says by which limits, and the new standings. */
function verdictsOf(
  requests: readonly LimitedAdmission[],
  standings: Map<string, LimitStanding>,
  refused: readonly number[],
): readonly { readonly verdict: LimitVerdict; readonly now: readonly LimitStanding[] }[] {
  const isRefused = new Set(refused);
  return requests.map(({ limits }, index) => {
    const before = limits.flatMap((limit) => standings.get(keyOf(limit)) ?? []);
    const verdict = limitVerdict(before);
    if (E.isLeft(verdict) !== isRefused.has(index + 1))
      throw new TypeError('the statement judged a limited request in another way than the rule');
    if (E.isLeft(verdict)) {
      const [first, ...others] = verdict.left;
      if (first === undefined) throw new TypeError('a request was refused under limits that have room');
      return { verdict: { kind: 'refused', full: [first, ...others] }, now: before };
    }
    for (const after of verdict.right) standings.set(keyOf(after.limit), after);
    return { verdict: { kind: 'admitted', held: before.some(isHeld) }, now: verdict.right };
  });
}

/** Whether requests are recorded until they end, either to count those in flight or to count their tokens. */
const isHeld = ({ limit: { terms } }: LimitStanding): boolean =>
  terms.tokens !== undefined || terms.inFlight !== undefined;

function admissions(
  requests: readonly AdmissionRequest[],
  result: t.TypeOf<typeof admissionResult>,
  verdicts: readonly LimitVerdict[],
  { process }: AdmissionOptions,
): readonly Admitted[] {
  const budgets = new Map(result.budgets.map((budget) => [budget.scope, activeBudget(budget)]));
  const accounted = new Set(result.accounted);
  const unclaimed = new Set(result.unclaimed);
  const unwritable = result.read_only || process.unwritable() !== undefined;
  return requests.map(({ requestLogId, caller }, index) => {
    const budget = budgets.get(scopeOf(caller));
    const limits = verdicts[index];
    // A request that must be judged before it completes is not sent upstream only to be refused afterwards.
    if (unwritable && budget?.terms.hardLimit === true) return E.left(storeUnavailable());
    return E.right({
      alreadyAccounted: accounted.has(requestLogId),
      claimed: !unclaimed.has(requestLogId),
      budget,
      databaseTime: result.database_time,
      ...(limits === undefined ? {} : { limits }),
    });
  });
}

const activeBudget = (found: t.TypeOf<typeof budgetResult>): ActiveBudget => ({
  terms: {
    cadence: found.cadence,
    amount: fromAmount10000(found.amount_10000),
    hardLimit: found.hard_limit,
  },
  window: { from: found.window_start, until: found.window_end },
  spent: found.spent,
  closed: found.closed,
});
