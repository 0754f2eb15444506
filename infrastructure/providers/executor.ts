import * as E from 'fp-ts/lib/Either.js';
import { Pool } from 'undici';
import type { Upstream, UpstreamCall, UpstreamExecution } from '../../application/ports/upstream.ts';
import type { Timeouts } from '../config/provider-config.ts';
import { Deadlines } from './deadlines.ts';
import { Exchange } from './exchange.ts';
import type { ConnectedProvider, OutboundRequest } from './provider.ts';

/** A provider that is ready to be called: its connections live as long as its configuration does. */
export interface Line {
  readonly provider: ConnectedProvider;
  readonly timeouts: Timeouts;
  readonly sanitise: (message: string) => string;
  readonly pool: Pool;
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

/** The only caller of upstreams: encode → authenticate → dispatch. */
export function executor(lineOf: (providerId: string) => Line | undefined): Upstream {
  const deadlines = new Deadlines();
  return {
    begin: (call) => {
      const line = lineOf(call.route.provider);
      const dialect = line?.provider.dialect(call);
      if (line === undefined || dialect === undefined) return unavailable(call);
      const exchange = new Exchange({
        stream: call.stream,
        dialect,
        sanitise: line.sanitise,
        deadlines,
        totalMs: line.timeouts.totalMs,
      });
      send(line, dialect.encode(call), exchange);
      return {
        reply: exchange.reply,
        accepted: () => exchange.accepted(),
        cancel: () => exchange.cancel(),
        cancelWithin: (milliseconds) => exchange.endWithin(milliseconds),
      };
    },
  };
}

function send(line: Line, request: OutboundRequest, exchange: Exchange): void {
  const authenticated = line.provider.authenticate(request);
  if (authenticated instanceof Promise) {
    authenticated.then(
      (ready) => dispatch(line, ready, exchange),
      () =>
        exchange.stop({
          kind: 'protocol',
          message: 'The gateway could not obtain credentials for the upstream.',
        }),
    );
  } else dispatch(line, authenticated, exchange);
}

function dispatch({ provider, pool }: Line, request: OutboundRequest, exchange: Exchange): void {
  const { pathname, search } = provider.baseUrl;
  const path = `${pathname.replace(/\/$/, '')}${request.path}${search}`;
  pool.dispatch({ method: 'POST', path, headers: { ...request.headers }, body: request.body }, exchange);
}

/** Routing asks for providers that are there; one that left in between is a fault of the call. */
const unavailable = (call: UpstreamCall): UpstreamExecution => ({
  reply: Promise.resolve(
    E.left({ kind: 'protocol', message: `The provider \`${call.route.provider}\` is not available.` }),
  ),
  accepted: () => false,
  cancel: () => undefined,
  cancelWithin: () => undefined,
});
