import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { chatCompletion } from '../../../domain/chat/chat-envelope.ts';
import { isObject, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../../../domain/upstream/upstream-fault.ts';

export function oracleCompletion(text: string, names: AnswerNames): Either<UpstreamFault, JsonObject> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  const { answer, spent } = parsed.right;
  if (!isString(answer)) return protocolFault('The oracle gave no answer.');
  const message = { role: 'assistant', content: answer };
  return E.right(chatCompletion(names, [{ index: 0, message, finish_reason: 'stop' }], oracleUsage(spent)));
}

/** Usage as reported, or none. */
export const oracleUsage = (spent: Json | undefined): JsonObject =>
  isObject(spent) ? { usage: { prompt_tokens: spent['in'], completion_tokens: spent['out'] } } : {};
