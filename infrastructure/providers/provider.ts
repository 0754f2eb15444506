import type { Either } from 'fp-ts/lib/Either.js';
import type { CallTerms, UpstreamCall, WholeAnswer } from '../../application/ports/upstream.ts';
import type { Capabilities } from '../../domain/routing/capabilities.ts';
import type { ApiFamily, Route, Takes } from '../../domain/routing/model.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { Json, JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Run } from '../../domain/shared/stream-machine.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';

/** An HTTP POST to be: the path is below the endpoint's base URL, header names are in lower case. */
export interface OutboundRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What of the caller's request did not go along although nothing was refused: for the row's metadata. */
  readonly notes?: JsonObject;
}

/** One that may also have been written beside the event loop: its JSON text is bytes then. */
export interface WrittenRequest extends Omit<OutboundRequest, 'body'> {
  readonly body: string | Uint8Array;
}

/** How one upstream speaks one API family. Pure: no clock, no network, no secrets. */
export interface Dialect {
  /** Left is what of the caller's request the upstream cannot express; it names the field. */
  readonly encode: (call: UpstreamCall) => Either<GatewayError, OutboundRequest>;
  /** Reads a whole 2xx answer. */
  readonly decode: (body: Buffer, call: CallTerms) => Either<UpstreamFault, WholeAnswer>;
  /**
   * Reads a streamed 2xx answer by its content type, in lower case; undefined: that is no stream. Absent: this style
   * cannot stream.
   */
  readonly events?: (
    contentType: string,
    call: CallTerms,
  ) => Run<Buffer, StreamEvent<JsonObject>> | undefined;
}

/** One of several requests that are one call. */
export interface PartRequest extends OutboundRequest {
  /** How many of the caller's inputs it carries. */
  readonly inputs: number;
}

/** The answer to one of them. */
export interface PartAnswer {
  readonly body: Buffer;
  readonly inputs: number;
}

/** A dialect that needs several exchanges for one call; none of them is streamed. */
export interface FanOutDialect {
  readonly encodeMany: (call: UpstreamCall) => Either<GatewayError, readonly PartRequest[]>;
  /** Reads the whole 2xx answers, in the order of the requests. */
  readonly decodeMany: (parts: readonly PartAnswer[], call: CallTerms) => Either<UpstreamFault, WholeAnswer>;
}

/**
 * Adds credentials to a finished request; never looks at the domain. It may wait (token exchange), and may then find
 * that there are none.
 */
export type Authenticator = (
  request: WrittenRequest,
) => WrittenRequest | Promise<Either<UpstreamFault, WrittenRequest>>;

/** Where requests go, and how the gateway proves there who it is. */
export interface Endpoint {
  readonly baseUrl: URL;
  readonly authenticate: Authenticator;
}

/** A provider with its configuration: what the executor needs to call it. */
export interface ConnectedProvider {
  /** All of them; each keeps connections of its own. */
  readonly endpoints: readonly Endpoint[];
  /** Undefined: this route's upstream does not take the family. */
  readonly speak: (call: CallTerms) => Reached | undefined;
  /** What the headers of a refusal call the failure, names in lower case; absent: its body alone does. */
  readonly errorCode?: ((headers: AnswerHeaders) => string | undefined) | undefined;
}

export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The upstream of a call: where it is, and in which dialect it is called. */
export interface Reached {
  readonly endpoint: Endpoint;
  readonly dialect: Dialect | FanOutDialect;
}

/** What an implementation is given beside its configuration. */
export interface ProviderContext {
  /** Makes an upstream's own words fit for callers and logs. */
  readonly sanitise: (message: string) => string;
  /** The unpadded base64url SHA-256 of a text. */
  readonly digest: (text: string) => string;
  /** From now on this credential is kept nowhere and told nobody: upstreams repeat what they were sent. */
  readonly conceal: (secret: string) => void;
  /** Tells the operator. */
  readonly warn: (message: string) => void;
}

type RouteOfProvider = Pick<Route, 'upstreamModel' | 'compatibility'>;

/** One provider kind. A new one is a folder with such a value, and what docs/adding-a-provider.md says. */
export interface ProviderImplementation<Config> {
  /** What the implementation can do on this route: the other half of the effective capability. */
  readonly supports: (route: RouteOfProvider) => Capabilities;
  /** What of this route decides that, as the subject of a sentence; absent: the kind alone. */
  readonly whatServes?: (route: RouteOfProvider) => string;
  /** Where a provider is called, by its configuration as it is stored; absent: at its `base_url`. */
  readonly placesOf?: (stored: JsonObject) => readonly (Json | undefined)[];
  /** How the route's upstream takes a family; undefined: not at all. */
  readonly takes: (route: RouteOfProvider, family: ApiFamily) => Takes | undefined;
  readonly connect: (config: Config, context: ProviderContext) => ConnectedProvider;
}
