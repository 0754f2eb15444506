import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AnswerNames, WholeAnswer } from '../../../application/ports/upstream.ts';
import { chatCompletion, providerMetadata } from '../../../domain/chat/chat-envelope.ts';
import {
  isAbsent,
  isArray,
  isDeeperThan,
  isString,
  type JsonObject,
  objectsOf,
  parseExactObject,
} from '../../../domain/shared/json.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import {
  answerObject,
  protocolFault,
  type UpstreamFault,
  used,
} from '../../../domain/upstream/upstream-fault.ts';
import { upstreamFailure, type Sanitise } from '../../../domain/upstream/upstream-words.ts';
import { isWellFormed } from './event-shape.ts';
import { finishReason } from './finish.ts';
import { answerParts, explanationOf, isThinking } from './metadata.ts';
import { chatUsage } from './usage.ts';

/** What a translated answer needs from its call. */
export interface AnswerTerms {
  readonly about: AnswerNames;
  /** Reasoning metadata namespace: `cloud_a_platform`, `cloud_b_platform`. */
  readonly namespace: string;
  /** Makes an upstream's error message safe for callers. */
  readonly sanitise: Sanitise;
}

/** Reads an upstream's whole message. An error with status 200 is an error, and so is an answer without `content`. */
export function readMessage(text: string, sanitise: Sanitise): Either<UpstreamFault, JsonObject> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  const { error, content, usage } = parsed.right;
  if (isAbsent(error) && isArray(content)) return parsed;
  const failure = upstreamFailure(parsed.right, 'The upstream answered without `content`.', sanitise);
  return protocolFault(failure, usage);
}

/** A whole message as a chat completion. */
export function messageAsChat(text: string, terms: AnswerTerms): Either<UpstreamFault, WholeAnswer> {
  const read = readMessage(text, terms.sanitise);
  if (E.isLeft(read)) return E.left({ ...read.left, ...used(chatUsage(read.left.usage)) });
  const usage = chatUsage(read.right['usage']);
  if (!isArray(read.right['content']) || !read.right['content'].every(isWellFormed))
    return protocolFault('The upstream sent a malformed answer.', usage);
  if (isDeeperThan(read.right, maxJsonDepth))
    return protocolFault('The upstream sent an answer that is nested too deeply.', usage);
  const value = completionOf(parseExactObject(text), terms);
  return E.right({ value, text: JSON.stringify(value) });
}

function completionOf(message: JsonObject, { about, namespace }: AnswerTerms): JsonObject {
  const blocks = objectsOf(message['content']);
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCall);
  const content = blocks.map(({ type, text }) => (type === 'text' && isString(text) ? text : '')).join('');
  const usage = chatUsage(message['usage']);
  const choice = {
    index: 0,
    message: {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      refusal: explanationOf(message) ?? null,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...providerMetadata(namespace, {
        reasoning: blocks.filter(isThinking),
        citations: blocks.flatMap(({ citations }) => (isArray(citations) ? citations : [])),
        blocks: blocks.filter(isForeign),
      }),
    },
    logprobs: null,
    finish_reason: finishReason(message['stop_reason'], calls.length > 0),
  };
  return chatCompletion(about, [choice], {
    ...(usage === undefined ? {} : { usage }),
    ...providerMetadata(namespace, answerParts(message)),
  });
}

/** Blocks that chat has no equivalent of: hosted tools, compaction, fallback, and types that are still to come. */
const isForeign = (block: JsonObject): boolean =>
  !isThinking(block) && block['type'] !== 'text' && block['type'] !== 'tool_use';

const toolCall = ({ id, name, input }: JsonObject): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(isAbsent(input) ? {} : input) },
});
