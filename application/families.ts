import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type ChatRequest, chatWatched, readChatRequest } from '../domain/chat/chat-request.ts';
import { ChatObserver, observeCompletion } from '../domain/chat/observe-chat.ts';
import { prepareChat, prepareTranslatedChat } from '../domain/chat/prepare-chat.ts';
import { observeEmbeddings } from '../domain/embeddings/embeddings-answer.ts';
import {
  type EmbeddingsRequest,
  embeddingsWatched,
  readEmbeddingsRequest,
} from '../domain/embeddings/embeddings-request.ts';
import { prepareEmbeddings } from '../domain/embeddings/prepare-embeddings.ts';
import { reasoningAsked } from '../domain/messages/effort.ts';
import { fromChatCompletion } from '../domain/messages/from-chat.ts';
import {
  type MessagesRequest,
  messagesWatched,
  readMessagesRequest,
} from '../domain/messages/messages-request.ts';
import { MessagesObserver, observeMessage } from '../domain/messages/observe-messages.ts';
import { messagesStream } from '../domain/messages/messages-stream.ts';
import { toChatBody } from '../domain/messages/to-chat.ts';
import { observeResponse, ResponsesObserver } from '../domain/responses/observe-responses.ts';
import { prepareResponses } from '../domain/responses/prepare-responses.ts';
import type { Digest } from '../domain/responses/replay-ids.ts';
import {
  readResponsesRequest,
  type ResponsesRequest,
  responsesFields,
  responsesWatched,
} from '../domain/responses/responses-request.ts';
import { routeOfBody } from '../domain/routing/model.ts';
import { type GatewayError, invalidRequest } from '../domain/shared/gateway-error.ts';
import { parseExact } from '../domain/shared/json.ts';
import { type DocumentFault, type JsonDocument, parseDocument } from '../domain/shared/json-document.ts';
import { seal } from '../domain/shared/stream-machine.ts';
import { nothingObserved } from '../domain/upstream/observation.ts';
import type { Family, Spoken } from './model-request.ts';

const reading =
  <A>(
    parse: (body: string) => Either<DocumentFault, JsonDocument>,
    read: (document: JsonDocument) => Either<GatewayError, A>,
  ) =>
  (body: string): Either<GatewayError, A> => {
    const document = parse(body);
    return E.isLeft(document)
      ? E.left(invalidRequest(document.left.message, document.left.path))
      : read(document.right);
  };

const speaksChat: Spoken = {
  family: 'chat_completions',
  observeWhole: observeCompletion,
  observer: () => new ChatObserver(),
};

export const chatCompletions: Family<ChatRequest> = {
  name: 'chat_completions',
  read: reading((body) => parseDocument(body, chatWatched), readChatRequest),
  prepare: (ask, resolved) =>
    E.map((body: string) => ({ speaks: speaksChat, body }))(
      prepareChat(ask, routeOfBody(resolved, 'chat_completions')),
    ),
};

const speaksMessages: Spoken = {
  family: 'messages',
  observeWhole: observeMessage,
  observer: () => new MessagesObserver(),
};

/**
 * Where the upstream speaks the messages body, the caller's own text goes there. On other chat-capable routes they are
 * translated: chat goes upstream, and what comes back is told in the caller's words.
 */
export const messages: Family<MessagesRequest> = {
  name: 'messages',
  fields: { json_schema: 'output_config' },
  read: reading((body) => parseDocument(body, messagesWatched, parseExact), readMessagesRequest),
  prepare: (ask, resolved, requestLogId) => {
    const { provider, route } = resolved;
    if (provider.takes(route, 'messages') !== undefined)
      return E.right({ speaks: speaksMessages, body: ask.document.text });
    const translates = provider.takes(route, 'chat_completions') === 'translated';
    const chat = translates ? toChatBody(ask, reasoningAsked) : toChatBody(ask);
    if (E.isLeft(chat)) return chat;
    const about = { id: `msg_${requestLogId.replaceAll('-', '')}`, model: ask.model };
    return E.map((body: string) => ({
      speaks: speaksChat,
      body,
      translation: {
        whole: (completion: Parameters<typeof fromChatCompletion>[0]) =>
          fromChatCompletion(completion, about),
        stream: () => seal(messagesStream(about)).begin(),
      },
    }))(prepareTranslatedChat(chat.right, routeOfBody(resolved, 'chat_completions')));
  },
};

const speaksResponses: Spoken = {
  family: 'responses',
  observeWhole: observeResponse,
  observer: () => new ResponsesObserver(),
};

/** A first-class family, not translated through chat completions. */
export const responses = (digest: Digest): Family<ResponsesRequest> => ({
  name: 'responses',
  fields: responsesFields,
  read: reading((body) => parseDocument(body, responsesWatched), readResponsesRequest),
  prepare: (ask, resolved) =>
    E.map((body: string) => ({ speaks: speaksResponses, body }))(
      prepareResponses(ask, routeOfBody(resolved, 'responses'), digest),
    ),
});

const speaksEmbeddings: Spoken = {
  family: 'embeddings',
  observeWhole: observeEmbeddings,
  observer: () => ({ see: () => undefined, observed: () => nothingObserved }),
};

export const embeddings: Family<EmbeddingsRequest> = {
  name: 'embeddings',
  read: reading((body) => parseDocument(body, embeddingsWatched), readEmbeddingsRequest),
  prepare: (ask, resolved) =>
    E.map((body: string) => ({ speaks: speaksEmbeddings, body }))(
      prepareEmbeddings(ask, routeOfBody(resolved, 'embeddings')),
    ),
};
