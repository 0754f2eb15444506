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

/** Where a chat-style API is, and what its owner adds to each request. */
export interface ChatStyle {
  /** Before `/chat/completions`, `/responses` and `/embeddings`, below the endpoint's base URL. */
  readonly basePath: string;
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** Of reasoning under `provider_metadata`. */
  readonly namespace: string;
}

type Sanitise = Pick<ProviderContext, 'sanitise'>;

/** Pass-through: the body is the caller's, the answer the upstream's, but for the rules of streams. */
export const chatDialect = (style: ChatStyle, { sanitise }: Sanitise): Dialect => ({
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

/** A first-class family: its events are never rewritten into chat chunks. */
export const responsesDialect = (style: ChatStyle, { sanitise }: Sanitise): Dialect => ({
  encode: encodeTo('/responses', style),
  decode: unchanged((text) => readResponse(text, sanitise)),
  events: serverSentEvents(andThen(reportingSseFrames(sanitise), seal(responsesStream(sanitise)))),
});

export const embeddingsDialect = (style: ChatStyle, { sanitise }: Sanitise): Dialect => ({
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

/** An answer that is read, and goes out as it came. */
const unchanged =
  (read: (text: string) => Either<UpstreamFault, JsonObject>): Dialect['decode'] =>
  (body) => {
    const text = body.toString('utf8');
    return pipe(
      read(text),
      E.map((value): WholeAnswer => ({ value, text: asCame(text, body) })),
    );
  };

/** Plain ASCII says the same as text, which goes out with its head in one write; other bytes go as they came. */
const asCame = (text: string, body: Buffer): WholeAnswer['text'] =>
  text.length === body.length ? text : body;
