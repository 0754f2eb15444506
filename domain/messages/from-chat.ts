import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type JsonObject, isObject } from '../shared/json.ts';
import { reportedUsage } from '../chat/observe-chat.ts';
import { signed } from '../chat/thought-signature.ts';
import type { UpstreamFault } from '../upstream/upstream-fault.ts';
import { isMalformedChat } from './answer-shape.ts';
import {
  type MessageNames,
  type CallPiece,
  callsOf,
  firstChoice,
  inputOf,
  legacyCallOf,
  madeUpId,
  messageOf,
  reasoningOf,
  refusalOf,
  saysNothing,
  stopReason,
  textOf,
} from './chat-answer.ts';

/**
 * A whole chat completion as a message. Reasoning becomes a thinking block, so that the caller sees it; its empty
 * signature says that it cannot be replayed. A malformed piece is a fault: what is left would look like the whole.
 */
export function fromChatCompletion(
  completion: JsonObject,
  about: MessageNames,
): Either<UpstreamFault, JsonObject> {
  if (isMalformedChat(completion, 'message'))
    return E.left({ kind: 'protocol', message: 'The upstream sent a malformed answer.' });
  const choice = firstChoice(completion['choices']);
  const message = isObject(choice?.['message']) ? choice['message'] : {};
  const refusal = refusalOf(message);
  const calls = toolUses(message, about);
  const content = [
    ...proseBlock(reasoningOf(message), (thinking) => ({ type: 'thinking', thinking, signature: '' })),
    ...[textOf(message), refusal].flatMap((text) => proseBlock(text, () => ({ type: 'text', text }))),
    ...calls,
  ];
  const stop = stopReason(choice?.['finish_reason'], { called: calls.length > 0, refused: refusal !== '' });
  return E.right(messageOf(about, content, stop, reportedUsage(completion)));
}

const proseBlock = (text: string, block: (text: string) => JsonObject): readonly JsonObject[] =>
  text === '' ? [] : [block(text)];

function toolUses(said: JsonObject, about: MessageNames): readonly JsonObject[] {
  const legacy = legacyCallOf(said);
  const calls = legacy === undefined ? callsOf(said) : [...callsOf(said), legacy];
  return calls.flatMap((call, ordinal) => (saysNothing(call) ? [] : [toolUse(call, about.id, ordinal)]));
}

const toolUse = (
  { id, name, text, signature }: CallPiece,
  answerId: string,
  ordinal: number,
): JsonObject => ({
  type: 'tool_use',
  id: id === '' ? madeUpId(answerId, ordinal) : id,
  name,
  input: inputOf(text),
  ...signed(signature),
});
