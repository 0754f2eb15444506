import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { CallIds } from '../calls/call-ids.ts';
import { inputOf } from '../calls/call-input.ts';
import { type CallPiece, callsOf, legacyCallOf, isEmptyCall } from '../calls/call-pieces.ts';
import { EncryptedThoughts, signed } from '../calls/thought-signature.ts';
import { reportedUsage } from '../chat/observe-chat.ts';
import { isFilled, isObject, isString, type JsonObject } from '../shared/json.ts';
import { protocolFault, type UpstreamFault } from '../upstream/upstream-fault.ts';
import { isMalformedChat } from './answer-shape.ts';
import {
  type MessageNames,
  callersToolName,
  firstChoicePieces,
  messageOf,
  reasoningOf,
  refusalOf,
  textOf,
  untranslatableMessage,
  untranslatableField,
} from './chat-answer.ts';
import { preservedStopReason, stopReason } from './stop-reason.ts';

/**
 * Translates a whole chat completion to a message. Reasoning becomes a thinking block, so that the caller sees it; its
 * empty signature says that it cannot be replayed. A malformed piece is a fault, because the rest would look like the
 * whole answer. So is an answer without a message, unless it was withheld, and one with content of which nothing can be
 * translated.
 */
export function fromChatCompletion(
  completion: JsonObject,
  about: MessageNames,
): Either<UpstreamFault, JsonObject> {
  if (isMalformedChat(completion, 'message')) return protocolFault('The upstream sent a malformed answer.');
  const answer = firstChoicePieces(completion['choices']);
  const messages = answer.flatMap(({ message }) => (isObject(message) ? [message] : []));
  const refusal = messages.map(refusalOf).join('');
  const calls = toolUses(messages, about);
  const texts = [...messages.map(textOf), refusal];
  const content = [...texts.flatMap((text) => proseBlock(text, () => ({ type: 'text', text }))), ...calls];
  const finish = answer.map(({ finish_reason }) => finish_reason).findLast(isFilled);
  const stop = stopReason(finish, {
    called: calls.length > 0,
    cutOff: false,
    refused: refusal !== '',
    kept: preservedStopReason(completion),
  });
  if (E.isLeft(stop)) return protocolFault(stop.left);
  if (messages.length === 0 && stop.right !== 'refusal')
    return protocolFault('The upstream answered without a message.');
  const untranslated = content.length === 0 ? messages.map(untranslatableField).find(isString) : undefined;
  if (untranslated !== undefined) return protocolFault(untranslatableMessage(untranslated));
  const thinking = proseBlock(messages.map(reasoningOf).join(''), (thinking) => ({
    type: 'thinking',
    thinking,
    signature: '',
  }));
  return E.right(messageOf(about, [...thinking, ...content], stop.right, reportedUsage(completion)));
}

const proseBlock = (text: string, block: (text: string) => JsonObject): readonly JsonObject[] =>
  text === '' ? [] : [block(text)];

function toolUses(messages: readonly JsonObject[], about: MessageNames): readonly JsonObject[] {
  const calls = messages.flatMap((message) => [callsOf(message), legacyCallOf(message) ?? []].flat());
  const ids = new CallIds(about, about.calls?.ids);
  const thoughts = new EncryptedThoughts();
  for (const message of messages) thoughts.see(message);
  return calls.flatMap((call, ordinal) => {
    if (isEmptyCall(call)) return [];
    const id = ids.give(call.id, ordinal);
    return [{ ...toolUse(call, id, callersToolName(about, call.name)), ...thoughts.of(call.id, id) }];
  });
}

const toolUse = ({ text, signature }: CallPiece, id: string, name: string): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: inputOf(text),
  ...signed(signature),
});
