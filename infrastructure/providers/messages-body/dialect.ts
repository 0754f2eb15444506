import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { CallTerms, UpstreamCall, WholeAnswer } from '../../../application/ports/upstream.ts';
import { countedBody } from '../../../domain/messages/count-request.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { type JsonObject, parseExactObject, without } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { andThen, type Run, seal } from '../../../domain/shared/stream-machine.ts';
import { type CountField, readCount } from './counted.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import type { Dialect, OutboundRequest, ProviderContext } from '../provider.ts';
import { isEventStream, reportingSseFrames } from '../wire/sse.ts';
import { fromMessagesBody } from './native.ts';
import { nativeMessagesStream } from './native-stream.ts';
import type { OutboundBody } from './outbound-body.ts';
import { fromChatBody } from './request.ts';
import { type AnswerTerms, messageAsChat, readMessage } from './response.ts';
import type { BodyRules } from './rules.ts';
import { chatFromMessages } from './stream.ts';

/** One style of upstream that speaks the messages body. */
export interface MessagesStyle {
  readonly rules: BodyRules;
  /** Reasoning metadata namespace: `cloud_a_platform`, `cloud_b_platform`. */
  readonly namespace: string;
  readonly streams: boolean;
  readonly counts: CountStyle;
  /** Relative to the endpoint's base URL. */
  readonly path: (call: CallTerms) => string;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly defaultHeaders: Readonly<Record<string, string>>;
}

/** How such an upstream counts the tokens of a messages body. */
export interface CountStyle {
  readonly path: (call: CallTerms) => string;
  /** The body of the count request, made from the messages body. */
  readonly request: (body: JsonObject, call: CallTerms) => JsonObject;
  readonly field: CountField;
}

/** The dialects of such an upstream, for chat, for messages and for token counts. */
export interface MessagesDialects {
  readonly chat_completions: Dialect;
  readonly messages: Dialect;
  readonly count_tokens: Dialect;
}

/** Chat is translated both ways. Messages are passed through, because they are the upstream's own protocol. */
export function messagesDialects(style: MessagesStyle, context: ProviderContext): MessagesDialects {
  const { sanitise, digest } = context;
  const terms = ({ answer }: CallTerms): AnswerTerms => ({
    about: answer,
    namespace: style.namespace,
    sanitise,
  });
  return {
    chat_completions: {
      encode: encodeBy(style, (call) => fromChatBody(call, style.rules, digest)),
      decode: (body, call) => messageAsChat(body.toString('utf8'), terms(call)),
      ...eventsBy(style, (call) =>
        andThen(reportingSseFrames(sanitise), seal(chatFromMessages(terms(call)))).begin(),
      ),
    },
    messages: {
      encode: encodeBy(style, (call) => fromMessagesBody(call, style.rules, digest)),
      decode: (body) =>
        pipe(
          readMessage(body.toString('utf8'), sanitise),
          E.map((value): WholeAnswer => ({ value, text: body })),
        ),
      ...eventsBy(style, () =>
        andThen(reportingSseFrames(sanitise), seal(nativeMessagesStream(sanitise))).begin(),
      ),
    },
    count_tokens: {
      encode: encodeBy({ ...style, path: style.counts.path }, (call) =>
        pipe(
          fromMessagesBody(call, style.rules, digest),
          E.map(
            ({ text, betas }): OutboundBody => ({
              text: JSON.stringify(style.counts.request(sentCount(text), call)),
              betas,
            }),
          ),
        ),
      ),
      decode: (body) => readCount(body, style.counts.field, sanitise),
    },
  };
}

/**
 * What is sent to be counted. Answer settings are removed here too, because the route's `extra_body` may add some; and a
 * region, which only decides whether this upstream may be asked: a count has no field for it.
 */
const sentCount = (text: string): JsonObject => without(countedBody(parseExactObject(text)), 'inference_geo');

const encodeBy =
  (
    style: MessagesStyle,
    write: (call: UpstreamCall) => Either<GatewayError, OutboundBody>,
  ): Dialect['encode'] =>
  (call) =>
    pipe(
      write(call),
      E.map(
        ({ text, betas, notes }): OutboundRequest => ({
          path: style.path(call),
          headers: withBetas({ ...style.headers, ...outboundHeaders(style.defaultHeaders, call) }, betas),
          body: text,
          ...(notes === undefined ? {} : { notes }),
        }),
      ),
    );

const betaHeader = 'anthropic-beta';

/** Adds the betas to those that the operator has configured. */
const withBetas = (
  headers: Readonly<Record<string, string>>,
  betas: readonly string[],
): Readonly<Record<string, string>> =>
  betas.length === 0
    ? headers
    : { ...headers, [betaHeader]: [headers[betaHeader] ?? [], betas].flat().join(',') };

const eventsBy = (
  { streams }: MessagesStyle,
  begin: (call: CallTerms) => Run<Buffer, StreamEvent<JsonObject>>,
): Pick<Dialect, 'events'> =>
  streams ? { events: (contentType, call) => (isEventStream(contentType) ? begin(call) : undefined) } : {};
