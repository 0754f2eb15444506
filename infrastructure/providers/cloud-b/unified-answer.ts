import { promptDetails } from '../../../domain/chat/prompt-details.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';
import { isObject, isAbsent, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';

/** Where callers find what chat completions have no field for. */
export const namespace = 'cloud_b_platform';

/** Why the platform's model stopped, in the words of chat completions. */
const finishReasons: ReadonlyMap<string, string> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
]);

/** The model made something that the platform could not read: what there is of the answer is no answer. */
const failures: ReadonlySet<string> = new Set(['malformed_model_output', 'malformed_tool_use']);

export type Stop =
  | { readonly kind: 'finished'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string }
  /** An answer must say why it stopped. */
  | { readonly kind: 'unknown' };

/**
 * A reason that nobody knows ends the turn. Some models say that the turn has ended where they wait for a tool:
 * callers need `tool_calls`.
 */
export function stopOf(stopReason: Json | undefined, called: boolean): Stop {
  if (!isString(stopReason) || stopReason === '') return { kind: 'unknown' };
  if (failures.has(stopReason))
    return { kind: 'failed', message: `The upstream could not read the model's answer (${stopReason}).` };
  const reason = finishReasons.get(stopReason) ?? 'stop';
  return { kind: 'finished', reason: reason === 'stop' && called ? 'tool_calls' : reason };
}

/**
 * Usage as the bill has it: input + cache read + cache write (CONTRACT §5). A part that is no token count makes the
 * prompt unknown, so that the usage counts as missing.
 */
export function chatUsage(reported: Json | undefined): JsonObject | undefined {
  if (!isObject(reported)) return undefined;
  const { inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens } = reported;
  const prompt = sumOf([inputTokens, cacheReadInputTokens ?? 0, cacheWriteInputTokens ?? 0]);
  const completion = tokenCount(outputTokens) ?? null;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: isAbsent(totalTokens) ? sumOf([prompt, completion]) : totalTokens,
    ...promptDetails(counted(cacheReadInputTokens), counted(cacheWriteInputTokens)),
  };
}

/** What is there and is no token count is null. */
const counted = (value: Json | undefined): number | null | undefined =>
  isAbsent(value) ? undefined : (tokenCount(value) ?? null);

function sumOf(parts: readonly (Json | undefined)[]): number | null {
  const counts = parts.map(tokenCount);
  return counts.every((count) => count !== undefined) ? counts.reduce((sum, count) => sum + count, 0) : null;
}

/**
 * A reasoning block, or a piece of one, in the shape that the platform's messages styles give it:
 * `{type: thinking, thinking, signature}` or `{type: redacted_thinking, data}`.
 */
export function reasoningBlock({ text, signature, redactedContent }: JsonObject): JsonObject | undefined {
  if (isString(redactedContent)) return { type: 'redacted_thinking', data: redactedContent };
  if (!isString(text) && !isString(signature)) return undefined;
  return {
    type: 'thinking',
    ...(isString(text) ? { thinking: text } : {}),
    ...(isString(signature) ? { signature } : {}),
  };
}

/** The member with which a message, delta, completion or chunk tells what only this platform has; or none. */
export const ownMetadata = (members: JsonObject): JsonObject => {
  const there = Object.entries(members).filter(([, value]) => !isAbsent(value));
  return there.length === 0 ? {} : { provider_metadata: { [namespace]: Object.fromEntries(there) } };
};

/** What callers asked for in the request, or what the route did: it belongs to the answer as a whole. */
export const answerMetadata = ({
  additionalModelResponseFields,
  trace,
  performanceConfig,
}: JsonObject): JsonObject => ownMetadata({ additionalModelResponseFields, trace, performanceConfig });

/** A tool that the platform itself ran: its call is not the caller's to answer. */
export const isServerTool = ({ type }: JsonObject): boolean => type === 'server_tool_use';
