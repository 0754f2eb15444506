import { expect } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { messagesWatched, readMessagesRequest } from '../../../domain/messages/messages-request.ts';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import type { GenerationRequest } from '../../../domain/routing/generation-request.ts';

export const hello = [{ role: 'user', content: 'Hello' }];

export const translated = (text: string): E.Either<GatewayError, JsonObject> => {
  const document = parseDocument(text, messagesWatched, parseExact);
  if (E.isLeft(document)) throw new Error(document.left.message);
  return E.chain((request: GenerationRequest) => toChatBody(request))(readMessagesRequest(document.right));
};
export const translate = (over: object): E.Either<GatewayError, JsonObject> =>
  translated(JSON.stringify({ model: 'fast', max_tokens: 100, messages: hello, ...over }));

/** The chat body, parsed from its JSON text. */
export const chatOf = (over: object): JsonObject => {
  const body = translate(over);
  if (E.isLeft(body)) throw new Error(body.left.message);
  return JSON.parse(JSON.stringify(body.right)) as JsonObject;
};
export const chatMessages = (messages: readonly object[]): unknown => chatOf({ messages })['messages'];
export const faultOf = (over: object): string | undefined => {
  const body = translate(over);
  if (E.isRight(body)) return undefined;
  expect(body.left.code).toBe('invalid_request');
  expect(body.left.message).toContain(`\`${body.left.param}\``);
  return body.left.param;
};
export const user = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] });
export const text = (words: string) => ({ type: 'text', text: words });
export const png = { type: 'base64', media_type: 'image/png', data: 'aGk=' };
export const pngPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } };
