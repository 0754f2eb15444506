import * as E from 'fp-ts/lib/Either.js';
import { type ChatRequest, chatWatched, readChatRequest } from '../domain/chat/chat-request.ts';
import { ChatObserver, observeCompletion } from '../domain/chat/observe-chat.ts';
import { prepareChat } from '../domain/chat/prepare-chat.ts';
import { invalidRequest } from '../domain/shared/gateway-error.ts';
import { parseDocument } from '../domain/shared/json-document.ts';
import type { Family } from './model-request.ts';

/** The chat-completions part of the story. */
export const chatCompletions: Family<ChatRequest> = {
  name: 'chat_completions',
  read: (body) => {
    const document = parseDocument(body, chatWatched);
    if (E.isLeft(document)) return E.left(invalidRequest(document.left.message, document.left.path));
    return readChatRequest(document.right);
  },
  prepare: prepareChat,
  observeWhole: observeCompletion,
  observer: () => new ChatObserver(),
};
