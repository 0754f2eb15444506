import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { WholeAnswer } from '../../../application/ports/upstream.ts';
import { type ChatCompletion, readChatCompletion } from '../../../domain/chat/chat-completion.ts';
import { chatStream } from '../../../domain/chat/chat-stream.ts';
import { readEmbeddings } from '../../../domain/embeddings/embeddings-answer.ts';
import { readResponse } from '../../../domain/responses/response-object.ts';
import { responsesStream } from '../../../domain/responses/responses-stream.ts';
import { permissive } from '../../../domain/routing/capabilities.ts';
import type { ApiFamily } from '../../../domain/routing/model.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { andThen, seal, type Sealed } from '../../../domain/shared/stream-machine.ts';
import type { UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import type { CompatProvider } from '../../config/provider-config.ts';
import type {
  Authenticator,
  ConnectedProvider,
  Dialect,
  Endpoint,
  ProviderContext,
  ProviderImplementation,
} from '../provider.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import { isEventStream, sseFrames } from '../wire/sse.ts';

const namespace = 'compat';

/** Pass-through; messages are spoken as chat. */
export const takesChatStyle: ProviderImplementation['takes'] = (_, family) =>
  family === 'messages' ? undefined : 'as_written';

/** A generic upstream that speaks the common chat-style API. */
export const compat: ProviderImplementation<CompatProvider> = {
  kind: 'compat',
  supports: () => permissive,
  takes: takesChatStyle,
  connect: (config, context) =>
    chatStyleProvider(
      config,
      { baseUrl: new URL(config.baseUrl), authenticate: authenticator(config.auth) },
      context,
    ),
};

/** The generic upstream behind whatever proves who the gateway is. */
export function chatStyleProvider(
  { defaultHeaders }: Pick<CompatProvider, 'defaultHeaders'>,
  endpoint: Endpoint,
  context: ProviderContext,
): ConnectedProvider {
  const dialects = compatDialects(defaultHeaders, context);
  return {
    endpoints: [endpoint],
    speak: ({ family }) => {
      const dialect = dialects[family];
      return dialect === undefined ? undefined : { endpoint, dialect };
    },
  };
}

/** Pass-through: the body is the caller's, the answer the upstream's, but for the rules of streams. */
function compatDialects(
  defaultHeaders: Readonly<Record<string, string>>,
  { sanitise }: ProviderContext,
): Partial<Record<ApiFamily, Dialect>> {
  const encodeTo =
    (path: string): Dialect['encode'] =>
    (call) =>
      E.right({ path, headers: outboundHeaders(defaultHeaders, call), body: call.body });
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
      events: serverSentEvents(andThen(sseFrames, seal(chatStream({ namespace, sanitise })))),
    },
    responses: {
      encode: encodeTo('/responses'),
      decode: unchanged((text) => readResponse(text, sanitise)),
      events: serverSentEvents(andThen(sseFrames, seal(responsesStream(sanitise)))),
    },
    embeddings: {
      encode: encodeTo('/embeddings'),
      decode: unchanged((text) => readEmbeddings(text, sanitise)),
    },
  };
}

const serverSentEvents =
  (machine: Sealed<Buffer, StreamEvent<JsonObject>>): NonNullable<Dialect['events']> =>
  (contentType) =>
    isEventStream(contentType) ? machine.begin() : undefined;

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
