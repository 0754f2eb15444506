import type { RateLimit } from '../domain/limits/rate-limit.ts';
import type { PriceCatalogue } from '../domain/money/price-catalogue.ts';
import type { BodySummary } from '../domain/request-log/refused-body.ts';
import type { ResolvedRoute } from '../domain/routing/model.ts';
import type { AnswerPath, ParsedRequest, RequestTerms, Family, ModelRequest } from './model-request.ts';
import type { Admission } from './ports/ledger.ts';
import type { CallTerms, PreparedCall } from './ports/upstream.ts';
import type { RequestBody } from './request-body.ts';
import type { RequestRedaction } from './request-redaction.ts';

/** What is known of a request when its pipeline begins. */
interface Begun {
  readonly family: Family<ParsedRequest>['name'];
  readonly request: ModelRequest;
  readonly body: RequestBody;
  readonly redaction: RequestRedaction;
  /** Present when the body was read, or was rejected for its content. */
  readonly bodySummary?: BodySummary | undefined;
}

interface Reading {
  readonly parsed: RequestTerms;
}

interface Routing {
  readonly resolved: ResolvedRoute;
  /** The prices that were in force together with the route. */
  readonly prices: PriceCatalogue;
  readonly path: AnswerPath;
  /** The limits of the key, its owner and the model; most requests have none. */
  readonly limits: readonly RateLimit[];
}

interface Preparation {
  readonly terms: CallTerms;
  readonly prepared: PreparedCall;
}

interface Admittance {
  readonly admission: Admission;
  /** The gateway's clock when the admission arrived, in milliseconds since the epoch. */
  readonly admittedAt: number;
  /** Whether the request id was to be claimed; kept because a reload may change whether ids are. */
  readonly claim: boolean;
}

type Without<A> = { readonly [K in keyof A]?: undefined };

/** The stages of a request; each knows everything that the previous one knew. */
export type Arrived = Begun & Without<Reading & Routing & Preparation & Admittance>;
export type ReadStage = Begun & Reading & Without<Routing & Preparation & Admittance>;
export type Routed = Begun & Reading & Routing & Without<Preparation & Admittance>;
export type Prepared = Begun & Reading & Routing & Preparation & Without<Admittance>;
export type Admitted = Begun & Reading & Routing & Preparation & Admittance;

/** A request at any stage. */
export type Facts = Arrived | ReadStage | Routed | Prepared | Admitted;
