import type { Either } from 'fp-ts/lib/Either.js';
import type { UpstreamCall, WholeAnswer } from '../../application/ports/upstream.ts';
import type { Capabilities } from '../../domain/routing/capabilities.ts';
import type { ProviderKind, Route } from '../../domain/routing/model.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Sealed } from '../../domain/shared/stream-machine.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { ProviderConfig } from '../config/provider-config.ts';

/** An HTTP POST to be: the path is below the provider's base URL, header names are in lower case. */
export interface OutboundRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How one upstream speaks one API family. Pure: no clock, no network, no secrets. */
export interface Dialect {
  readonly encode: (call: UpstreamCall) => OutboundRequest;
  /** Reads a whole 2xx answer. */
  readonly decode: (body: Buffer) => Either<UpstreamFault, WholeAnswer>;
  /** Reads a streamed 2xx answer; absent = this style cannot stream. */
  readonly events?: Sealed<Buffer, StreamEvent<JsonObject>>;
}

/** Adds credentials to a finished request. May wait (token exchange); never looks at the domain. */
export type Authenticator = (request: OutboundRequest) => OutboundRequest | Promise<OutboundRequest>;

/** A provider with its configuration: what the executor needs to call it. */
export interface ConnectedProvider {
  readonly baseUrl: URL;
  readonly authenticate: Authenticator;
  readonly dialect: (call: UpstreamCall) => Dialect | undefined;
}

/** What an implementation is given beside its configuration. */
export interface ProviderContext {
  /** Makes an upstream's own words fit for callers and logs. */
  readonly sanitise: (message: string) => string;
}

/** One provider kind. A new one is a folder with such a value and a line in `registry.ts`. */
export interface ProviderImplementation<Config extends ProviderConfig = ProviderConfig> {
  readonly kind: ProviderKind;
  /** What the implementation can do on this route: the other half of the effective capability. */
  readonly supports: (route: Pick<Route, 'upstreamModel' | 'compatibility'>) => Capabilities;
  readonly connect: (config: Config, context: ProviderContext) => ConnectedProvider;
}
