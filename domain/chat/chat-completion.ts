import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  isDeeperThan,
  isObject,
  type JsonObject,
  mapObjects,
  objectsOf,
  parseExactObject,
} from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../upstream/upstream-fault.ts';
import { upstreamFailure, type Sanitise } from '../upstream/upstream-words.ts';
import { hasMarkedThoughts, withThoughtParts } from './marked-thoughts.ts';
import { reportedUsage } from './observe-chat.ts';
import { hasThinkingContent, withoutThinkingContent } from '../reasoning/reasoning-fields.ts';
import { reportedFailure } from './chat-failure.ts';

/** A whole chat completion: its value, and the text to send when a rule changed it. */
interface ChatCompletion {
  readonly value: JsonObject;
  /** Absent when no rule changed the answer: the upstream's bytes then go out as they came. */
  readonly rewritten: string | undefined;
}

/**
 * Reads an upstream's unary answer. An error under status 200 counts as an error wherever it is reported, and so does
 * anything that is not a chat completion.
 */
export function readChatCompletion(
  text: string,
  namespace: string,
  sanitise: Sanitise,
): Either<UpstreamFault, ChatCompletion> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  const value = parsed.right;
  const choices = value['choices'];
  const failure = reportedFailure(value);
  if (failure !== undefined || !Array.isArray(choices)) {
    const otherwise =
      failure === undefined ? 'The upstream answered without `choices`.' : 'The upstream reported an error.';
    const reported = upstreamFailure(failure ?? value, otherwise, sanitise);
    return protocolFault(reported, reportedUsage(value));
  }
  const native = objectsOf(choices).some(
    ({ message }) => isObject(message) && (hasThinkingContent(message) || hasMarkedThoughts(message)),
  );
  if (!native) return E.right({ value, rewritten: undefined });
  if (isDeeperThan(value, maxJsonDepth))
    return protocolFault('The upstream sent an answer that is nested too deeply.', reportedUsage(value));
  const rebuilt = withCleanMessages(parseExactObject(text), namespace);
  return E.right({ value: rebuilt, rewritten: JSON.stringify(rebuilt) });
}

const withCleanMessages = (completion: JsonObject, namespace: string): JsonObject => ({
  ...completion,
  choices: mapObjects(completion['choices'], (choice) => {
    const { message } = choice;
    return isObject(message)
      ? { ...choice, message: withoutThinkingContent(withThoughtParts(message), namespace) }
      : choice;
  }),
});
