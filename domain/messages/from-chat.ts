import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, type JsonObject, membersOf } from '../shared/json.ts';
import { reportedUsage } from '../chat/observe-chat.ts';
import { signed } from '../chat/thought-signature.ts';
import { protocolFault, type UpstreamFault } from '../upstream/upstream-fault.ts';
import { isMalformedChat } from './answer-shape.ts';
import {
  type MessageNames,
  CallIds,
  type CallPiece,
  callsOf,
  firstChoice,
  inputOf,
  legacyCallOf,
  messageOf,
  reasoningOf,
  refusalOf,
  isEmptyCall,
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
  const { message: sent, finish_reason } = firstChoice(completion['choices']) ?? {};
  const message = membersOf(sent);
  const refusal = refusalOf(message);
  const calls = toolUses(message, about);
  const content = [
    ...[textOf(message), refusal].flatMap((text) => proseBlock(text, () => ({ type: 'text', text }))),
    ...calls,
  ];
  const stop = stopReason(finish_reason, {
    called: calls.length > 0,
    cutOff: false,
    refused: refusal !== '',
    kept: preservedStopReason(completion),
  });
  if (E.isLeft(stop)) return protocolFault(stop.left);
  if (!isObject(sent) && stop.right !== 'refusal')
    return protocolFault('The upstream answered without a message.');
  const untranslated = content.length === 0 ? untranslatableField(message) : undefined;
  if (untranslated !== undefined) return protocolFault(untranslatableMessage(untranslated));
  const thinking = proseBlock(reasoningOf(message), (thinking) => ({
    type: 'thinking',
    thinking,
    signature: '',
  }));
  return E.right(messageOf(about, [...thinking, ...content], stop.right, reportedUsage(completion)));
}

const proseBlock = (text: string, block: (text: string) => JsonObject): readonly JsonObject[] =>
  text === '' ? [] : [block(text)];

function toolUses(sent: JsonObject, about: MessageNames): readonly JsonObject[] {
  const legacy = legacyCallOf(sent);
  const calls = legacy === undefined ? callsOf(sent) : [...callsOf(sent), legacy];
  const ids = new CallIds(about);
  return calls.flatMap((call, ordinal) =>
    isEmptyCall(call) ? [] : [toolUse(call, ids.give(call.id, ordinal))],
  );
}

const toolUse = ({ name, text, signature }: CallPiece, id: string): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: inputOf(text),
  ...signed(signature),
});
