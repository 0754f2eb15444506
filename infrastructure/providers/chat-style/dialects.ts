import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { WholeAnswer } from '../../../application/ports/upstream.ts';
import { readChatCompletion } from '../../../domain/chat/chat-completion.ts';
import { chatStream } from '../../../domain/chat/chat-stream.ts';
import { readEmbeddings } from '../../../domain/embeddings/embeddings-answer.ts';
import { readResponse } from '../../../domain/responses/response-object.ts';
import { responsesStream } from '../../../domain/responses/responses-stream.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { andThen, seal, type Sealed } from '../../../domain/shared/stream-machine.ts';
import type { UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import type { Dialect, ProviderContext } from '../provider.ts';
import { isEventStream, reportingSseFrames } from '../wire/sse.ts';

/** Where a chat-style API is, and which headers its configuration adds to each request. */
export interface ChatStyle {
  /** The path between the endpoint's base URL and `/chat/completions`, `/responses` or `/embeddings`. */
  readonly basePath: string;
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** The key of reasoning in `provider_metadata`. */
  readonly namespace: string;
}

type DialectContext = Pick<ProviderContext, 'sanitise'>;

/** Pass-through: bodies and answers stay as they are, except for the stream rules and thinking content in an answer. */
export const chatDialect = (style: ChatStyle, { sanitise }: DialectContext): Dialect => ({
  encode: encodeTo('/chat/completions', style),
  decode: (body) => {
    const text = body.toString('utf8');
    return pipe(
      readChatCompletion(text, style.namespace, sanitise),
      E.map(({ value, rewritten }) => ({
        value,
        text: rewritten ?? asCame(text, body),
      })),
    );
  },
  events: serverSentEvents(
    andThen(reportingSseFrames(sanitise), seal(chatStream({ namespace: style.namespace, sanitise }))),
  ),
});

/** The responses family is passed through too: its events are never rewritten into chat chunks. */
export const responsesDialect = (style: ChatStyle, { sanitise }: DialectContext): Dialect => ({
  encode: encodeTo('/responses', style),
  decode: unchanged((text) => readResponse(text, sanitise)),
  events: serverSentEvents(andThen(reportingSseFrames(sanitise), seal(responsesStream(sanitise)))),
});

export const embeddingsDialect = (style: ChatStyle, { sanitise }: DialectContext): Dialect => ({
  encode: encodeTo('/embeddings', style),
  decode: unchanged((text) => readEmbeddings(text, sanitise)),
});

const encodeTo =
  (path: string, { basePath, defaultHeaders }: ChatStyle): Dialect['encode'] =>
  (call) =>
    E.right({ path: `${basePath}${path}`, headers: outboundHeaders(defaultHeaders, call), body: call.body });

const serverSentEvents =
  (machine: Sealed<Buffer, StreamEvent<JsonObject>>): NonNullable<Dialect['events']> =>
  (contentType) =>
    isEventStream(contentType) ? machine.begin() : undefined;

/** An answer that is read, and sent to the caller unchanged. */
const unchanged =
  (read: (text: string) => Either<UpstreamFault, JsonObject>): Dialect['decode'] =>
  (body) => {
    const text = body.toString('utf8');
    return pipe(
      read(text),
      E.map((value): WholeAnswer => ({ value, text: asCame(text, body) })),
    );
  };

/** An ASCII body is kept as text, which is written together with the response head. Other bodies are kept as bytes. */
const asCame = (text: string, body: Buffer): WholeAnswer['text'] =>
  text.length === body.length ? text : body;
