import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { chatCompletion } from '../../../domain/chat/chat-envelope.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';
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

/** Usage as reported, or none. Callers of chat read a total, which the oracle does not report. */
export function oracleUsage(spent: Json | undefined): JsonObject {
  if (!isObject(spent)) return {};
  const prompt = tokenCount(spent['in']) ?? null;
  const completion = tokenCount(spent['out']) ?? null;
  const total = prompt === null || completion === null ? null : prompt + completion;
  return { usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } };
}
