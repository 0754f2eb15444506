import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { chatWatched, readChatRequest } from '../domain/chat/chat-request.ts';
import { signsCalls } from '../domain/calls/thought-signature.ts';
import { ChatObserver, observeCompletion } from '../domain/chat/observe-chat.ts';
import { prepareChat, prepareTranslatedChat } from '../domain/chat/prepare-chat.ts';
import { compatOf, takesReasoning } from '../domain/compatibility/compat.ts';
import { observeEmbeddings } from '../domain/embeddings/embeddings-answer.ts';
import {
  type EmbeddingsRequest,
  embeddingsWatched,
  readEmbeddingsRequest,
} from '../domain/embeddings/embeddings-request.ts';
import { prepareEmbeddings } from '../domain/embeddings/prepare-embeddings.ts';
import { markOf, noMarks } from '../domain/messages/cache-marks.ts';
import { inCallersNames } from '../domain/messages/callers-names.ts';
import { type CountRequest, countedBody, readCountRequest } from '../domain/messages/count-request.ts';
import { fromChatCompletion } from '../domain/messages/from-chat.ts';
import { messagesWatched, readMessagesRequest } from '../domain/messages/messages-request.ts';
import { MessagesObserver, observeMessage } from '../domain/messages/observe-messages.ts';
import { messagesStream } from '../domain/messages/messages-stream.ts';
import { type ReadMessages, toChatBody } from '../domain/messages/to-chat.ts';
import { observeResponse, ResponsesObserver } from '../domain/responses/observe-responses.ts';
import { prepareResponses } from '../domain/responses/prepare-responses.ts';
import type { Digest } from '../domain/shared/digest.ts';
import { readResponsesRequest, responsesWatched } from '../domain/responses/responses-request.ts';
import { summaryOfRefused } from '../domain/request-log/refused-body.ts';
import { type ApiFamily, type ResolvedRoute, routeOfBody } from '../domain/routing/model.ts';
import { type GatewayError, invalidRequest } from '../domain/shared/gateway-error.ts';
import {
  type JsonDocument,
  parseDigits,
  parseDocument,
  type ParseScanned,
} from '../domain/shared/json-document.ts';
import { namedKey } from '../domain/shared/named-key.ts';
import type { Watched } from '../domain/shared/json-scan.ts';
import { type OutboundText, unchangedText } from '../domain/shared/outbound-text.ts';
import { seal } from '../domain/shared/stream-machine.ts';
import { nothingObserved, type StreamObserver } from '../domain/upstream/observation.ts';
import type { ParsedRequest, RequestTerms, Family, ReadFault, UpstreamFamily } from './model-request.ts';
import type { GenerationRequest } from '../domain/routing/generation-request.ts';

const reading =
  <A>(
    family: ApiFamily,
    watched: Watched,
    read: (document: JsonDocument) => Either<GatewayError, A>,
    parse?: ParseScanned,
  ) =>
  (body: string, maxValues?: number): Either<ReadFault, A> => {
    const document = parseDocument(body, watched, parse, maxValues);
    if (E.isRight(document)) {
      const { value } = document.right;
      return pipe(
        read(document.right),
        E.mapLeft((error) => ({ ...error, bodySummary: summaryOfRefused(family, value) })),
      );
    }
    const { message, path, tooManyValues } = document.left;
    return E.left({ ...invalidRequest(message, path), ...(tooManyValues ? { tooManyValues } : {}) });
  };

const speaksChat: UpstreamFamily = {
  family: 'chat_completions',
  observeWhole: observeCompletion,
  observer: () => new ChatObserver(),
};

export const chatCompletions: Family<GenerationRequest> = {
  name: 'chat_completions',
  read: reading('chat_completions', chatWatched, readChatRequest),
  write: (parsed, resolved) => prepareChat(parsed, routeOfBody(resolved, 'chat_completions')),
  answerPath: () => ({ speaks: speaksChat }),
};

const speaksMessages: UpstreamFamily = {
  family: 'messages',
  observeWhole: observeMessage,
  observer: () => new MessagesObserver(),
};

/**
 * If the upstream speaks the messages body, it gets the caller's own text. On other chat-capable routes the body is
 * translated: chat goes upstream, and the answer is translated back into the caller's family.
 */
export const messages: Family<GenerationRequest> = {
  name: 'messages',
  read: reading('messages', messagesWatched, readMessagesRequest, parseDigits),
  write: (parsed, resolved) => {
    if (takesMessages(resolved)) return E.right(unchangedText(parsed.document.text));
    return writeAsChat(parsed, resolved);
  },
  inCallersNames: underMessagesNames,
  answerPath: ({ model, calls }, resolved, requestLogId) => {
    if (takesMessages(resolved)) return { speaks: speaksMessages };
    const about = { id: `msg_${requestLogId.replaceAll('-', '')}`, model, calls };
    return {
      speaks: speaksChat,
      translation: {
        whole: (completion) => fromChatCompletion(completion, about),
        stream: () => seal(messagesStream(about)).begin(),
      },
    };
  },
};

/** A messages body that goes upstream unchanged already has the caller's names. */
function underMessagesNames(
  error: GatewayError,
  { document }: ReadMessages,
  resolved: ResolvedRoute,
): GatewayError {
  return takesMessages(resolved) ? error : inCallersNames(error, document.value);
}

function writeAsChat(parsed: ReadMessages, resolved: ResolvedRoute): Either<GatewayError, OutboundText> {
  const { provider, route } = resolved;
  const translates = provider.takes(route, 'chat_completions') === 'translated';
  const compat = compatOf(route.compatibility);
  const chat = toChatBody(parsed, translates ? 'provider' : 'upstream', {
    marks: translates || compat.cacheControl ? markOf : noMarks,
    thinking: !translates && takesReasoning(compat),
    thoughts: !translates && signsCalls(route.upstreamModel),
    emptyTools: !translates && compat.emptyTools === 'preserve_with_tool_history',
  });
  if (E.isLeft(chat)) return chat;
  return pipe(
    prepareTranslatedChat(chat.right, routeOfBody(resolved, 'chat_completions')),
    E.bimap((error) => inCallersNames(error, parsed.document.value), unchangedText),
  );
}

const takesMessages = ({ provider, route }: ResolvedRoute): boolean =>
  provider.takes(route, 'messages') !== undefined;

/** For families that are never streamed. */
const observesNothing: StreamObserver = { see: () => undefined, observed: () => nothingObserved };

const speaksCount: UpstreamFamily = {
  family: 'count_tokens',
  observeWhole: () => nothingObserved,
  observer: () => observesNothing,
};

/**
 * The number of tokens of a messages body. The upstream counts them, in the body that the message itself would be sent
 * as. Where it cannot, nothing is estimated: the error is the one that makes clients count for themselves.
 */
export const countTokens: Family<CountRequest> = {
  name: 'count_tokens',
  unserved: (model) => notCounted(model),
  inCallersNames: underMessagesNames,
  read: reading('count_tokens', messagesWatched, readCountRequest, parseDigits),
  write: (parsed, resolved) => {
    if (resolved.provider.takes(resolved.route, 'count_tokens') === undefined)
      return E.left(notCounted(parsed.model));
    const counted = countedBody(parsed.document.value);
    return takesMessages(resolved)
      ? E.right(unchangedText(JSON.stringify(counted)))
      : writeAsChat({ ...parsed, document: { value: counted } }, resolved);
  },
  answerPath: () => ({ speaks: speaksCount }),
};

const notCounted = (model: string): GatewayError => ({
  code: 'not_supported',
  message: `No upstream of the model \`${namedKey(model)}\` counts the tokens of this request: estimate them, or read \`usage\` of an answer.`,
  param: 'model',
});

const speaksResponses: UpstreamFamily = {
  family: 'responses',
  observeWhole: observeResponse,
  observer: () => new ResponsesObserver(),
};

/** A first-class family, not translated through chat completions. */
export const responses = (digest: Digest): Family<GenerationRequest> => ({
  name: 'responses',
  read: reading('responses', responsesWatched, readResponsesRequest),
  write: (parsed, resolved) => prepareResponses(parsed, routeOfBody(resolved, 'responses'), digest),
  answerPath: () => ({ speaks: speaksResponses }),
});

const speaksEmbeddings: UpstreamFamily = {
  family: 'embeddings',
  observeWhole: observeEmbeddings,
  observer: () => observesNothing,
};

export const embeddings: Family<EmbeddingsRequest> = {
  name: 'embeddings',
  read: reading('embeddings', embeddingsWatched, readEmbeddingsRequest),
  write: (parsed, resolved) => prepareEmbeddings(parsed, routeOfBody(resolved, 'embeddings')),
  answerPath: () => ({ speaks: speaksEmbeddings }),
};

/** The terms that were read from a body, without the body itself. */
export const requestTermsOf = ({
  model,
  stream,
  needs,
  fields,
  exposedToolCount,
  mcpTools,
  calls,
}: RequestTerms): RequestTerms => ({
  model,
  stream,
  needs,
  ...(fields === undefined ? {} : { fields }),
  exposedToolCount,
  mcpTools,
  calls,
});

/** Writes a request for a provider; an error names the fields as the caller wrote them. */
export function writtenBy<A extends ParsedRequest, W>(
  { write, inCallersNames }: Pick<Family<A>, 'write' | 'inCallersNames'>,
  parsed: A,
  resolved: ResolvedRoute,
  provider: (body: OutboundText) => Either<GatewayError, W>,
): Either<GatewayError, W> {
  const body = write(parsed, resolved);
  if (E.isLeft(body)) return body;
  const renamed = (error: GatewayError) => inCallersNames?.(error, parsed, resolved) ?? error;
  return pipe(provider(body.right), E.mapLeft(renamed));
}
