import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { chatCompletion } from '../../../domain/chat/chat-envelope.ts';
import {
  isObject,
  isArray,
  isDeeperThan,
  isString,
  type Json,
  type JsonObject,
  parseExactObject,
} from '../../../domain/shared/json.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';
import { upstreamFailure, type Sanitise } from '../../../domain/upstream/upstream-words.ts';
import { isServerTool } from './unified-blocks.ts';
import { stopOf } from './unified-finish.ts';
import { answerMembers, ownMetadata, reasoningBlock } from './unified-metadata.ts';
import { chatUsage } from './unified-usage.ts';

/**
 * A whole converse answer as a chat completion. Reasoning goes into `provider_metadata` and never into the content.
 * Cited text is part of the content. Calls of tools that the platform ran itself are not tool calls for the caller.
 */
export function unifiedCompletion(
  text: string,
  names: AnswerNames,
  sanitise: Sanitise,
): Either<UpstreamFault, JsonObject> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  if (isDeeperThan(parsed.right, maxJsonDepth))
    return protocolFault('The upstream sent an answer that is nested too deeply.');
  const answer = parseExactObject(text);
  const blocks = contentOf(answer);
  const usage = chatUsage(answer['usage']);
  if (blocks === undefined) {
    const failure = upstreamFailure(answer, 'The upstream answered without a message.', sanitise);
    return protocolFault(failure, usage);
  }
  const calls = callsIn(blocks);
  const stop = stopOf(answer['stopReason'], calls.length > 0);
  if (stop.kind === 'failed') return protocolFault(stop.message, usage);
  if (stop.kind === 'unknown') return protocolFault('The upstream answered without a `stopReason`.', usage);
  const choice = {
    index: 0,
    message: messageOf(blocks, calls),
    logprobs: null,
    finish_reason: stop.reason,
  };
  const members = { ...(usage === undefined ? {} : { usage }), ...answerMembers(answer) };
  return E.right(chatCompletion(names, [choice], members));
}

function contentOf({ output }: JsonObject): readonly JsonObject[] | undefined {
  const message = isObject(output) ? output['message'] : undefined;
  const content = isObject(message) ? message['content'] : undefined;
  return isArray(content) ? content.filter(isObject) : undefined;
}

function messageOf(blocks: readonly JsonObject[], calls: readonly JsonObject[]): JsonObject {
  const content = blocks.map(textOf).join('');
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...ownMetadata({
      reasoning: blocks.flatMap(reasoningIn),
      citations: blocks.flatMap(citationsIn),
      blocks: blocks.filter(isForeign),
    }),
  };
}

/** The text of a block. Cited text comes in a separate kind of block. */
function textOf({ text, citationsContent }: JsonObject): string {
  if (isString(text)) return text;
  const cited = isObject(citationsContent) ? citationsContent['content'] : undefined;
  return isArray(cited) ? cited.map((part) => (isObject(part) ? orEmpty(part['text']) : '')).join('') : '';
}

const orEmpty = (value: Json | undefined): string => (isString(value) ? value : '');

function reasoningIn({ reasoningContent }: JsonObject): readonly JsonObject[] {
  if (!isObject(reasoningContent)) return [];
  const { reasoningText } = reasoningContent;
  const block = reasoningBlock(isObject(reasoningText) ? reasoningText : reasoningContent);
  return block === undefined ? [] : [block];
}

const citationsIn = ({ citationsContent }: JsonObject): readonly Json[] =>
  isObject(citationsContent) && isArray(citationsContent['citations']) ? citationsContent['citations'] : [];

/** Blocks that chat has no equivalent of, including calls of tools that the platform ran itself. */
const isForeign = ({ text, toolUse, reasoningContent, citationsContent }: JsonObject): boolean =>
  isObject(toolUse)
    ? isServerTool(toolUse)
    : !isString(text) && !isObject(reasoningContent) && !isObject(citationsContent);

/** Numbers in the input keep every digit. */
const callsIn = (blocks: readonly JsonObject[]): readonly JsonObject[] =>
  blocks.flatMap(({ toolUse }) =>
    isObject(toolUse) && !isServerTool(toolUse)
      ? [
          {
            id: orEmpty(toolUse['toolUseId']),
            type: 'function',
            function: { name: orEmpty(toolUse['name']), arguments: JSON.stringify(toolUse['input'] ?? {}) },
          },
        ]
      : [],
  );
