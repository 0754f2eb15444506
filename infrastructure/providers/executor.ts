import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type {
  CallTerms,
  Hold,
  PreparedCall,
  Upstream,
  UpstreamCall,
  UpstreamExecution,
} from '../../application/ports/upstream.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { refusesCredentials } from '../../domain/upstream/upstream-fault.ts';
import type { ProviderConfig } from '../config/provider-config.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Deadlines } from './deadlines.ts';
import { Exchange, type ExchangeOptions, type Sender } from './exchange.ts';
import { fanOut } from './fan-out.ts';
import type {
  AuthenticatedRequest,
  ConnectedProvider,
  Dialect,
  Endpoint,
  CalledUpstream,
  WrittenRequest,
} from './provider.ts';
import { type WrittenCall, writtenCall } from './written.ts';
import type { Sanitise } from '../../domain/upstream/upstream-words.ts';

/** A provider that is ready to be called. Its connections live until its configuration changes. */
export interface ReadyProvider {
  readonly config: ProviderConfig;
  readonly provider: ConnectedProvider;
  readonly sanitise: Sanitise;
  readonly pools: ReadonlyMap<Endpoint, ConnectionPool>;
}

/** An upstream whose requests may also be encoded elsewhere, in a worker thread. */
export interface Executor extends Upstream {
  /** Left: the error for a part of the caller's request that the upstream cannot express. */
  readonly prepareWritten: (
    terms: CallTerms,
    write: (config: ProviderConfig) => Promise<Either<GatewayError, WrittenCall>>,
  ) => Promise<Either<GatewayError, PreparedCall>>;
  /** The configuration of a route's provider; `undefined` when there is no such provider. */
  readonly configOf: (terms: CallTerms) => ProviderConfig | undefined;
  /** For shutdown: from now on no call lasts longer than this. */
  readonly endAll: (withinMs: number) => void;
}

/** The only caller of upstreams: encode → authenticate → dispatch. */
export function executor(readyProvider: (providerId: string) => ReadyProvider | undefined): Executor {
  const deadlines = new Deadlines();
  const reachedBy = (terms: CallTerms): ReachedProvider | undefined => {
    const ready = readyProvider(terms.route.provider);
    const reached = ready?.provider.speak(terms);
    if (ready === undefined || reached === undefined) return undefined;
    const sender: ReachedProvider['sender'] = (trace, hold) => {
      const held = heldTogether(hold);
      return (request, options) => {
        const { config, provider, sanitise } = ready;
        const { errorCode } = provider;
        const { firstByteMs, totalMs } = config.timeouts;
        const exchange = new Exchange({
          ...options,
          sanitise,
          errorCode,
          deadlines,
          firstByteMs,
          totalMs,
          hold: held(),
        });
        send(ready, reached.endpoint, { ...request, headers: { ...request.headers, ...trace } }, exchange);
        return exchange;
      };
    };
    return { config: ready.config, reached, sender };
  };
  return {
    configOf: ({ route }) => readyProvider(route.provider)?.config,
    endAll: (withinMs) => deadlines.endAll(withinMs),
    prepare: (call) => {
      const there = reachedBy(call);
      if (there === undefined) return E.right(unavailable(call));
      return pipe(
        writtenCall(there.reached.dialect, call),
        E.map((all) => preparedCall(there, all, termsOf(call))),
      );
    },
    prepareWritten: async (terms, write) => {
      const there = reachedBy(terms);
      if (there === undefined) return E.right(unavailable(terms));
      return pipe(
        await write(there.config),
        E.map((all) => preparedCall(there, all, terms)),
      );
    },
  };
}

/** A call may have several exchanges: the memory that it holds is the sum of theirs. */
function heldTogether(hold: Hold): () => Hold {
  let all = 0;
  return () => {
    let own = 0;
    return (bytes) => {
      all += bytes - own;
      own = bytes;
      return hold(all);
    };
  };
}

/** The provider of a call, and how to send the call's requests to it. */
interface ReachedProvider {
  readonly config: ProviderConfig;
  readonly reached: CalledUpstream;
  readonly sender: (...terms: Parameters<PreparedCall['begin']>) => Sender;
}

function preparedCall(
  { reached: { dialect }, sender }: ReachedProvider,
  requests: WrittenCall,
  terms: CallTerms,
): PreparedCall {
  // Released when it is sent: the upstream may take minutes to answer.
  let unsent: WrittenCall | undefined = requests;
  return {
    notes: Object.assign({}, ...requests.map(({ notes }) => notes)) as JsonObject,
    begin: (trace, hold) => {
      const sent = unsent;
      unsent = undefined;
      if (sent === undefined) throw new Error('A call is begun once.');
      return 'decodeMany' in dialect
        ? fanOut(sent, sender(trace, hold), (parts) => dialect.decodeMany(parts, terms))
        : executionOf(sender(trace, hold)(only(sent), reading(dialect, terms)));
    },
  };
}

/** Without the body, because the terms stay in memory until the answer ends. */
const termsOf = ({ body: _body, utf8: _utf8, ...terms }: UpstreamCall): CallTerms => terms;

function only([request]: WrittenCall): WrittenRequest {
  if (request === undefined) throw new Error('A call has a request.');
  return request;
}

const reading = (
  dialect: Dialect,
  call: CallTerms,
): Pick<ExchangeOptions, 'stream' | 'mayBeLarge' | 'decode' | 'events'> => ({
  stream: call.stream,
  mayBeLarge: !call.stream,
  decode: (body) => dialect.decode(body, call),
  events: (contentType) => dialect.events?.(contentType, call),
});

const executionOf = (exchange: Exchange): UpstreamExecution => ({
  reply: exchange.reply,
  accepted: () => exchange.accepted(),
  cancel: () => exchange.cancel(),
  cancelWithin: (milliseconds) => exchange.endWithin(milliseconds),
});

function send(ready: ReadyProvider, endpoint: Endpoint, request: WrittenRequest, exchange: Exchange): void {
  const authenticated = endpoint.authenticate(request);
  if (authenticated instanceof Promise) {
    authenticated.then(
      (finished) => {
        if (E.isRight(finished)) dispatch(ready, endpoint, finished.right, exchange);
        else exchange.stop(finished.left);
      },
      () => exchange.stop({ kind: 'protocol', message: 'The gateway could not sign in to the upstream.' }),
    );
  } else dispatch(ready, endpoint, authenticated, exchange);
}

function dispatch(
  ready: ReadyProvider,
  endpoint: Endpoint,
  request: AuthenticatedRequest,
  exchange: Exchange,
): void {
  const { refused } = request;
  if (refused !== undefined)
    void exchange.reply.then((reply) => {
      if (E.isLeft(reply) && refusesCredentials(reply.left)) refused();
    });
  const { pathname, search } = endpoint.baseUrl;
  const path = `${pathname.replace(/\/$/, '')}${request.path}${search}`;
  const options = { method: 'POST', path, headers: { ...request.headers }, body: request.body } as const;
  const pool = ready.pools.get(endpoint);
  if (pool?.closed !== true) return pool?.dispatch(options, exchange);
  // The provider was replaced after the call was prepared: a pool for this call alone, closed when the call ends.
  const last = new ConnectionPool(endpoint.baseUrl, ready.config.timeouts);
  last.dispatch(options, exchange);
  void last.close();
}

/** Routing picks only providers that exist. If one was removed in the meantime, the call fails. */
const unavailable = (call: CallTerms): PreparedCall => ({
  notes: {},
  begin: () => ({
    reply: Promise.resolve(
      E.left({ kind: 'protocol', message: `The provider \`${call.route.provider}\` is not available.` }),
    ),
    accepted: () => false,
    cancel: () => undefined,
    cancelWithin: () => undefined,
  }),
});
