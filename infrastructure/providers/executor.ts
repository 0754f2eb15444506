import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { Pool } from 'undici';
import type {
  PreparedCall,
  Upstream,
  UpstreamCall,
  UpstreamExecution,
} from '../../application/ports/upstream.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { Timeouts } from '../config/provider-config.ts';
import { Deadlines } from './deadlines.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { fanOut } from './fan-out.ts';
import type { ConnectedProvider, Dialect, Endpoint, OutboundRequest, Spoken } from './provider.ts';

/** A provider that is ready to be called: its connections live as long as its configuration does. */
export interface Line {
  readonly provider: ConnectedProvider;
  readonly timeouts: Timeouts;
  readonly sanitise: (message: string) => string;
  readonly pools: ReadonlyMap<Endpoint, Pool>;
}

/** Unused connections to an upstream are kept this long; most servers close theirs later. */
const keepAliveMs = 10_000;

export const openPool = (baseUrl: URL, timeouts: Timeouts): Pool =>
  new Pool(baseUrl.origin, {
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.firstByteMs,
    bodyTimeout: timeouts.idleMs,
    keepAliveTimeout: keepAliveMs,
  });

/** Sends one request of a call, and gives its exchange. */
export type Sender = (
  request: OutboundRequest,
  options: Pick<ExchangeOptions, 'stream' | 'decode' | 'events'>,
) => Exchange;

export interface Executor extends Upstream {
  /** The process ends: no call lasts longer than this. */
  readonly endAll: (withinMs: number) => void;
}

/** The only caller of upstreams: encode → authenticate → dispatch. */
export function executor(lineOf: (providerId: string) => Line | undefined): Executor {
  const deadlines = new Deadlines();
  return {
    endAll: (withinMs) => deadlines.endAll(withinMs),
    prepare: (call) => {
      const line = lineOf(call.route.provider);
      const spoken = line?.provider.speak(call);
      if (line === undefined || spoken === undefined) return E.right(unavailable(call));
      const sender =
        (trace: Readonly<Record<string, string>>): Sender =>
        (request, options) => {
          const { sanitise, timeouts } = line;
          const exchange = new Exchange({ ...options, sanitise, deadlines, totalMs: timeouts.totalMs });
          send(line, spoken.endpoint, { ...request, headers: { ...request.headers, ...trace } }, exchange);
          return exchange;
        };
      return preparedCall(spoken, call, sender);
    },
  };
}

function preparedCall(
  { dialect }: Spoken,
  call: UpstreamCall,
  sender: (trace: Readonly<Record<string, string>>) => Sender,
): Either<GatewayError, PreparedCall> {
  if ('encodeMany' in dialect)
    return E.map((requests: readonly OutboundRequest[]) => ({
      begin: (trace: Readonly<Record<string, string>>) =>
        fanOut(requests, sender(trace), (bodies) => dialect.decodeMany(bodies, call)),
    }))(dialect.encodeMany(call));
  return E.map((request: OutboundRequest) => ({
    begin: (trace: Readonly<Record<string, string>>) =>
      executionOf(sender(trace)(request, reading(dialect, call))),
  }))(dialect.encode(call));
}

const reading = (
  dialect: Dialect,
  call: UpstreamCall,
): Pick<ExchangeOptions, 'stream' | 'decode' | 'events'> => ({
  stream: call.stream,
  decode: (body) => dialect.decode(body, call),
  events: (contentType) => dialect.events?.(contentType, call),
});

const executionOf = (exchange: Exchange): UpstreamExecution => ({
  reply: exchange.reply,
  accepted: () => exchange.accepted(),
  cancel: () => exchange.cancel(),
  cancelWithin: (milliseconds) => exchange.endWithin(milliseconds),
});

function send(line: Line, endpoint: Endpoint, request: OutboundRequest, exchange: Exchange): void {
  const authenticated = endpoint.authenticate(request);
  if (authenticated instanceof Promise) {
    authenticated.then(
      (ready) => {
        if (E.isRight(ready)) dispatch(line, endpoint, ready.right, exchange);
        else exchange.stop(ready.left);
      },
      () => exchange.stop({ kind: 'protocol', message: 'The gateway could not sign in to the upstream.' }),
    );
  } else dispatch(line, endpoint, authenticated, exchange);
}

function dispatch(line: Line, endpoint: Endpoint, request: OutboundRequest, exchange: Exchange): void {
  const { pathname, search } = endpoint.baseUrl;
  const path = `${pathname.replace(/\/$/, '')}${request.path}${search}`;
  const options = { method: 'POST', path, headers: { ...request.headers }, body: request.body } as const;
  const pool = line.pools.get(endpoint);
  if (pool?.closed !== true) return void pool?.dispatch(options, exchange);
  // The provider was replaced after the call was prepared: a pool for this call alone, gone when it is over.
  const last = openPool(endpoint.baseUrl, line.timeouts);
  last.dispatch(options, exchange);
  void last.close();
}

/** Routing asks for providers that are there; one that left in between is a fault of the call. */
const unavailable = (call: UpstreamCall): PreparedCall => ({
  begin: () => ({
    reply: Promise.resolve(
      E.left({ kind: 'protocol', message: `The provider \`${call.route.provider}\` is not available.` }),
    ),
    accepted: () => false,
    cancel: () => undefined,
    cancelWithin: () => undefined,
  }),
});
