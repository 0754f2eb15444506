import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { SpokenFamily, UpstreamCall, WholeAnswer } from '../../../application/ports/upstream.ts';
import { type ChatCompletion, readChatCompletion } from '../../../domain/chat/chat-completion.ts';
import { chatStream } from '../../../domain/chat/chat-stream.ts';
import { readEmbeddings } from '../../../domain/embeddings/embeddings-answer.ts';
import { readResponse } from '../../../domain/responses/response-object.ts';
import { responsesStream } from '../../../domain/responses/responses-stream.ts';
import { permissive } from '../../../domain/routing/capabilities.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import type { UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import type { CompatProvider } from '../../config/provider-config.ts';
import type { Authenticator, Dialect, ProviderContext, ProviderImplementation } from '../provider.ts';
import { sseFrames } from '../wire/sse.ts';

const namespace = 'compat';

/** A generic upstream that speaks the common chat-style API. */
export const compat: ProviderImplementation<CompatProvider> = {
  kind: 'compat',
  supports: () => permissive,
  connect: (config, context) => {
    const dialects = compatDialects(config.defaultHeaders, context);
    return {
      baseUrl: new URL(config.baseUrl),
      authenticate: authenticator(config.auth),
      dialect: ({ family }) => dialects[family],
    };
  },
};

/** Pass-through: the body is the caller's, the answer the upstream's, but for the rules of streams. */
function compatDialects(
  defaultHeaders: Readonly<Record<string, string>>,
  { sanitise }: ProviderContext,
): Readonly<Record<SpokenFamily, Dialect>> {
  const encodeTo =
    (path: string): Dialect['encode'] =>
    (call) => ({ path, headers: outboundHeaders(defaultHeaders, call), body: call.body });
  return {
    chat_completions: {
      encode: encodeTo('/chat/completions'),
      decode: (body) => {
        const text = body.toString('utf8');
        return E.map(({ value, rewritten }: ChatCompletion) => ({
          value,
          text: rewritten ?? asCame(text, body),
        }))(readChatCompletion(text, namespace, sanitise));
      },
      events: andThen(sseFrames, seal(chatStream({ namespace, sanitise }))),
    },
    responses: {
      encode: encodeTo('/responses'),
      decode: unchanged((text) => readResponse(text, sanitise)),
      events: andThen(sseFrames, seal(responsesStream(sanitise))),
    },
    embeddings: {
      encode: encodeTo('/embeddings'),
      decode: unchanged((text) => readEmbeddings(text, sanitise)),
    },
  };
}

/** An answer that is read, and goes out as it came. */
const unchanged =
  (read: (text: string) => Either<UpstreamFault, JsonObject>): Dialect['decode'] =>
  (body) => {
    const text = body.toString('utf8');
    return E.map((value: JsonObject): WholeAnswer => ({ value, text: asCame(text, body) }))(read(text));
  };

/** Plain ASCII says the same as text, which goes out with its head in one write; other bytes go as they came. */
const asCame = (text: string, body: Buffer): WholeAnswer['text'] =>
  text.length === body.length ? text : body;

/** Later ones win: defaults of the provider, then of the route; names are compared without case. */
function outboundHeaders(
  defaultHeaders: Readonly<Record<string, string>>,
  { route, stream, traceContext }: UpstreamCall,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: stream ? 'text/event-stream' : 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'model-gateway',
  };
  for (const [name, value] of Object.entries(defaultHeaders)) headers[name.toLowerCase()] = value;
  for (const [name, value] of Object.entries(route.extraHeaders)) headers[name.toLowerCase()] = value;
  return Object.assign(headers, traceContext);
}

/** `extra_headers` never replace authentication: it is put on last. */
function authenticator(auth: CompatProvider['auth']): Authenticator {
  switch (auth.mode) {
    case 'bearer':
      return withHeader('authorization', `Bearer ${auth.token}`);
    case 'header':
      return withHeader(auth.name.toLowerCase(), auth.value);
    case 'none':
      return (request) => request;
  }
}

const withHeader =
  (name: string, value: string): Authenticator =>
  (request) => ({ ...request, headers: { ...request.headers, [name]: value } });
