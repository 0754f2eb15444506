import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type Dispatcher, Pool } from 'undici';
import type {
  AnswerMemory,
  McpExchange,
  McpFrame,
  McpReply,
  McpUpstreams,
} from '../../application/ports/mcp-upstreams.ts';
import { type McpError, noRoom } from '../../domain/mcp/mcp-error.ts';
import { withoutMark } from '../../domain/shared/byte-order-mark.ts';
import { addFragment } from '../../domain/shared/fragments.ts';
import type { McpServerConfig } from '../config/mcp-config.ts';
import { connectOptions } from '../providers/connect-options.ts';
import { isEventStream, sseFrames } from '../providers/wire/sse.ts';
import { decodedBody, inTurns } from './decoded-body.ts';
import { resumedAnswer } from './resumed-answer.ts';
import { type CredentialContext, type ServerCredentials, serverCredentials } from './server-auth.ts';
import { serverEvent } from './server-event.ts';

const connectMs = 10_000;
/** How long idle connections are kept unless the server says otherwise: many close theirs after 5 seconds. */
const keepAliveMs = 4_000;

interface ReadyServer {
  readonly config: McpServerConfig;
  readonly url: URL;
  readonly credentials: ServerCredentials;
  readonly pool: Pool;
}

export interface McpServerPool extends McpUpstreams {
  readonly close: () => Promise<void>;
}

/** The only client of MCP servers. Connections live as long as a server's configuration does. */
export function mcpUpstreams(
  configured: () => readonly McpServerConfig[],
  context: CredentialContext,
): McpServerPool {
  const ready = new Map<string, ReadyServer>();
  let seen = configured();
  /** Closes the pools of servers that a reload removed, once their requests in flight have ended. */
  const letGo = (): void => {
    const servers = configured();
    if (servers === seen) return;
    seen = servers;
    for (const [id, { pool }] of ready) {
      if (servers.some((each) => each.id === id)) continue;
      ready.delete(id);
      void pool.close();
    }
  };
  const readyServer = (id: string): ReadyServer | undefined => {
    letGo();
    const config = seen.find((each) => each.id === id);
    if (config === undefined) return undefined;
    const known = ready.get(id);
    if (known !== undefined && known.config === config) return known;
    // A reload decodes everything again; a server whose configuration is equal keeps its connections and its tokens.
    if (known !== undefined && isDeepStrictEqual(known.config, config)) {
      const kept = { ...known, config };
      ready.set(id, kept);
      return kept;
    }
    if (known !== undefined) void known.pool.close();
    const made = {
      config,
      url: new URL(config.url),
      credentials: serverCredentials(config.auth, context),
      pool: poolOf(config),
    };
    ready.set(id, made);
    return made;
  };
  return {
    servers: configured,
    send: async (server, terms) => {
      const there = readyServer(server.id);
      if (there === undefined) return E.left(gone);
      const { session, isComplete } = terms;
      if (session === undefined || isComplete === undefined) return sentTo(there, terms);
      return resumedAnswer(sentTo.bind(undefined, there), terms, isComplete, there.config.timeoutMs);
    },
    close: async () => {
      await Promise.all([...ready.values()].map(({ pool }) => pool.destroy()));
    },
  };
}

/** `Exchange` has one timeout for the whole exchange, so those of the pool are off. */
const poolOf = ({ url }: McpServerConfig): Pool =>
  new Pool(new URL(url).origin, {
    connect: connectOptions(connectMs),
    // Without HTTP/2 each message has a connection of its own: a broken one fails only that message, and no message
    // waits for the handshake of another's connection.
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
  });

const gone: McpError = { code: 'unknown_server', message: 'The MCP server is no longer configured.' };
const late: McpError = { code: 'timeout', message: 'The MCP server did not answer in time.' };
const unreachable: McpError = {
  code: 'upstream_unreachable',
  message: 'The MCP server could not be reached, or broke its answer off.',
};
const tooLarge = (maxBytes: number): McpError => ({
  code: 'result_too_large',
  message: `The MCP server answered with a message of more than ${maxBytes} bytes.`,
});

const withoutRoom = (isHeld: boolean): McpError | undefined => (isHeld ? undefined : noRoom);

async function sentTo(
  there: ReadyServer,
  terms: McpExchange,
  afterMs = 0,
): Promise<Either<McpError, McpReply>> {
  const { config, url } = there;
  const exchange = new Exchange(terms, timeOf(terms, config.timeoutMs));
  if (afterMs > 0) await exchange.waitFor(sleep(afterMs, undefined, { ref: false }));
  const credentials = await exchange.waitFor(there.credentials.headers());
  if (credentials === undefined) return exchange.ended(unreachable);
  if (E.isLeft(credentials)) return exchange.ended(credentials.left);
  try {
    const response = await requested(there, {
      method: terms.method,
      path: `${url.pathname}${url.search}`,
      headers: headersOf(terms, credentials.right),
      body: terms.text ?? null,
      signal: exchange.signal,
    });
    if (response.statusCode === 401) there.credentials.refused(credentials.right);
    return await replyOf(exchange, response, { maxBytes: config.maxResultBytes, memory: terms.memory });
  } catch {
    return exchange.ended(unreachable);
  }
}

/** The server may have been replaced while the call waited for a token: such a call gets connections of its own. */
function requested(
  { config, pool }: ReadyServer,
  options: Dispatcher.RequestOptions,
): Promise<Dispatcher.ResponseData> {
  if (!pool.closed) return pool.request(options);
  const last = poolOf(config);
  const response = last.request(options);
  void last.close();
  return response;
}

const timeOf = ({ withinMs = timeoutOfServer }: McpExchange, timeoutMs: number): number | undefined =>
  withinMs === Number.POSITIVE_INFINITY ? undefined : Math.min(withinMs, timeoutMs);
const timeoutOfServer = Number.MAX_SAFE_INTEGER;

const headersOf = (
  terms: McpExchange,
  credentials: Readonly<Record<string, string>>,
): Record<string, string> => ({
  accept: terms.method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
  'accept-encoding': 'identity',
  'user-agent': 'model-gateway',
  ...(terms.text === undefined ? {} : { 'content-type': 'application/json' }),
  ...(terms.session === undefined ? {} : { 'mcp-session-id': terms.session }),
  ...terms.headers,
  ...credentials,
});

/** One exchange. It ends by itself, by the caller's signal, or at its timeout. */
class Exchange {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout | undefined;
  private readonly terms: McpExchange;
  private isLate = false;

  constructor(terms: McpExchange, timeoutMs: number | undefined) {
    this.terms = terms;
    if (timeoutMs !== undefined)
      this.timer = setTimeout(() => {
        this.isLate = true;
        this.controller.abort();
      }, timeoutMs);
    if (terms.signal.aborted) this.controller.abort();
    else terms.signal.addEventListener('abort', this.stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  private readonly stop = (): void => this.controller.abort();

  /** The outcome of a step before the message is sent; `undefined` if the exchange ends first. */
  async waitFor<A>(step: Promise<A>): Promise<A | undefined> {
    if (this.signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const ended = (): void => resolve(undefined);
    this.signal.addEventListener('abort', ended);
    const first = await Promise.race([step, promise]);
    this.signal.removeEventListener('abort', ended);
    return first;
  }

  /** Stops the timer and no longer listens to the caller's signal. */
  over(): void {
    clearTimeout(this.timer);
    this.terms.signal.removeEventListener('abort', this.stop);
  }

  fault(error: McpError): McpError {
    this.over();
    return this.isLate ? late : error;
  }

  ended(error: McpError): Either<McpError, never> {
    return E.left(this.fault(error));
  }
}

/** The bounds of an answer. */
interface AnswerBounds {
  /** The largest size of one message. */
  readonly maxBytes: number;
  readonly memory: AnswerMemory;
}

async function replyOf(
  exchange: Exchange,
  { statusCode: status, headers, body: sent }: Dispatcher.ResponseData,
  bounds: AnswerBounds,
): Promise<Either<McpError, McpReply>> {
  const body = decodedBody(sent, headers['content-encoding']);
  const session = sessionIn(headers['mcp-session-id']);
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (status >= 200 && status < 300 && isEventStream(type))
    return E.right({
      status,
      session,
      body: { kind: 'events', frames: framesOf(exchange, body, bounds) },
    });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of inTurns(body)) {
    bytes += chunk.length;
    const fault =
      bytes > bounds.maxBytes ? tooLarge(bounds.maxBytes) : withoutRoom(bounds.memory.hold(chunk.length));
    if (fault !== undefined) {
      body.destroy();
      return exchange.ended(fault);
    }
    addFragment(pieces, chunk);
  }
  exchange.over();
  return E.right({
    status,
    session,
    body:
      bytes === 0 || !/\bjson\b/.test(type)
        ? { kind: 'none' }
        : { kind: 'json', text: Buffer.concat(withoutMark(pieces)).toString() },
  });
}

/** A server's id for a session: visible ASCII. Whether a caller can carry it is decided where it is sealed. */
const sessionIn = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) ? value : undefined;

async function* framesOf(
  exchange: Exchange,
  body: AsyncIterable<unknown> & { destroy: () => unknown },
  { maxBytes, memory }: AnswerBounds,
): AsyncGenerator<McpFrame> {
  const machine = sseFrames.begin();
  try {
    for await (const chunk of inTurns(body)) {
      for (const frame of machine.push(chunk)) {
        if (frame.kind === 'oversize' || frame.wire.length > maxBytes)
          return void (yield { kind: 'failed', error: exchange.fault(tooLarge(maxBytes)) });
        yield* serverEvent(frame);
      }
      const held = machine.holds();
      const fault = held > maxBytes ? tooLarge(maxBytes) : withoutRoom(memory.holdUnfinished(held));
      if (fault !== undefined) return void (yield { kind: 'failed', error: exchange.fault(fault) });
    }
    for (const frame of machine.end({ kind: 'eof' })) if (frame.kind === 'frame') yield* serverEvent(frame);
  } catch {
    yield { kind: 'failed', error: exchange.fault(unreachable) };
  } finally {
    exchange.over();
    body.destroy();
  }
}
