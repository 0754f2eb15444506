import type { Either } from 'fp-ts/lib/Either.js';
import type { CallTerms, UpstreamCall, WholeAnswer } from '../../application/ports/upstream.ts';
import type { Capabilities } from '../../domain/routing/capabilities.ts';
import type { ApiFamily, Route, FamilySupport } from '../../domain/routing/model.ts';
import type { Digest } from '../../domain/shared/digest.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { Json, JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Run } from '../../domain/shared/stream-machine.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { Sanitise } from '../../domain/upstream/upstream-words.ts';

/** An HTTP POST to send. The path is relative to the endpoint's base URL; header names are in lower case. */
export interface OutboundRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What was left out of the caller's request without rejecting it, for the metadata of the log row. */
  readonly notes?: JsonObject;
}

/** A request as it is sent. Its body is bytes if a worker thread wrote it, or if the dialect kept the call's `utf8`. */
export interface WrittenRequest extends Omit<OutboundRequest, 'body'> {
  readonly body: string | Uint8Array;
}

/** How one upstream speaks one API family. A dialect is pure: no clock, no network, no secrets. */
export interface Dialect {
  /** Left: the error for a part of the caller's request that the upstream cannot express. It names the field. */
  readonly encode: (call: UpstreamCall) => Either<GatewayError, OutboundRequest>;
  /** Reads a whole 2xx answer. */
  readonly decode: (body: Buffer, call: CallTerms) => Either<UpstreamFault, WholeAnswer>;
  /**
   * Returns the reader of a streamed 2xx answer by its content type, in lower case; `undefined` if that is not the type
   * of a stream. Absent where the upstream cannot stream.
   */
  readonly events?: (
    contentType: string,
    call: CallTerms,
  ) => Run<Buffer, StreamEvent<JsonObject>> | undefined;
}

/** One of the several requests of a call. */
export interface PartRequest extends OutboundRequest {
  /** How many of the caller's inputs it carries. */
  readonly inputs: number;
}

/** The answer to a `PartRequest`. */
export interface PartAnswer {
  readonly body: Buffer;
  readonly inputs: number;
}

/** A dialect that needs several exchanges for one call. None of them is streamed. */
export interface FanOutDialect {
  readonly encodeMany: (call: UpstreamCall) => Either<GatewayError, readonly PartRequest[]>;
  /** Reads the whole 2xx answers, in the order of the requests. */
  readonly decodeMany: (parts: readonly PartAnswer[], call: CallTerms) => Either<UpstreamFault, WholeAnswer>;
}

/** A request with credentials. */
export interface AuthenticatedRequest extends WrittenRequest {
  /** To be called when the upstream refuses the credentials. Absent, or without effect, where there can be no others. */
  readonly refused?: () => void;
}

/**
 * Adds credentials to a finished request, and knows nothing of the domain. It may be asynchronous (a token exchange),
 * and may then fail to obtain credentials.
 */
export type Authenticator = (
  request: WrittenRequest,
) => AuthenticatedRequest | Promise<Either<UpstreamFault, AuthenticatedRequest>>;

/** Where requests are sent, and how the gateway authenticates there. */
export interface Endpoint {
  readonly baseUrl: URL;
  readonly authenticate: Authenticator;
}

/** A provider with its configuration: what the executor needs to call it. */
export interface ConnectedProvider {
  /** Every endpoint that `speak` may return. Each has its own connections. */
  readonly endpoints: readonly Endpoint[];
  /** Returns `undefined` if this route's upstream does not take the family. */
  readonly speak: (call: CallTerms) => CalledUpstream | undefined;
  /** Reads the error code from an error answer's headers, names in lower case. Absent where only the body has one. */
  readonly errorCode?: ((headers: AnswerHeaders) => string | undefined) | undefined;
}

export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The upstream of a call: its endpoint, and the dialect that it speaks. */
export interface CalledUpstream {
  readonly endpoint: Endpoint;
  readonly dialect: Dialect | FanOutDialect;
}

/** What an implementation gets besides its configuration. */
export interface ProviderContext {
  /** Makes an upstream's error message safe for callers and logs. */
  readonly sanitise: Sanitise;
  readonly digest: Digest;
  /** From now on this credential is redacted wherever it would be stored or shown: upstreams echo what they receive. */
  readonly conceal: (secret: string) => void;
  /** Logs a warning for the operator. */
  readonly warn: (message: string) => void;
}

type RouteOfProvider = Pick<Route, 'upstreamModel' | 'compatibility'>;

/** One provider kind. To add one, write a folder that exports such a value, and follow docs/adding-a-provider.md. */
export interface ProviderImplementation<Config> {
  /** The capabilities that the implementation has on this route. The route's configuration can only restrict them. */
  readonly supports: (route: RouteOfProvider) => Capabilities;
  /** What on the route decides the capabilities, as the subject of a sentence. Absent where the kind alone does. */
  readonly whatServes?: (route: RouteOfProvider) => string;
  /** Where a provider is called, from its stored configuration. Absent where that is its `base_url`. */
  readonly placesOf?: (stored: JsonObject) => readonly (Json | undefined)[];
  /** How the route's upstream takes a family; `undefined` when it does not. */
  readonly takes: (route: RouteOfProvider, family: ApiFamily) => FamilySupport | undefined;
  readonly connect: (config: Config, context: ProviderContext) => ConnectedProvider;
}
