import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { promptDetails } from '../../../domain/chat/prompt-details.ts';
import { messagesBodyUsage } from '../../../domain/messages/observe-messages.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';
import { isObject, isAbsent, type Json, type JsonObject } from '../../../domain/shared/json.ts';

/** What translated answers are told by. */
export interface AnswerWords {
  readonly about: AnswerNames;
  /** Reasoning metadata namespace: `cloud_a_platform`, `cloud_b_platform`. */
  readonly namespace: string;
  /** Makes an upstream's own words fit for the caller. */
  readonly sanitise: (message: string) => string;
}

const finishReasons: ReadonlyMap<Json | undefined, string> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

/** A stop reason in chat's words; one that nobody knows ends the turn, unless there are calls. */
export const finishReason = (stopReason: Json | undefined, called: boolean): string =>
  finishReasons.get(stopReason) ?? (called ? 'tool_calls' : 'stop');

/**
 * The usage in chat's words, with what was read from a cache and written to one beside the whole prompt. Undefined: none was reported;
 * counts that cannot be used are null.
 */
export function chatUsage(reported: Json | undefined): JsonObject | undefined {
  if (isAbsent(reported)) return undefined;
  const usage = messagesBodyUsage(reported);
  if (usage === undefined) return { prompt_tokens: null, completion_tokens: null, total_tokens: null };
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = isObject(reported)
    ? reported
    : {};
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...promptDetails(tokenCount(read), tokenCount(written)),
  };
}

/**
 * What of a native answer has no word in chat, under the provider's own namespace: reasoning, citations, and blocks
 * that are neither text nor a call of the caller's tools. None of it is ever in the content.
 */
export interface NativeParts {
  readonly reasoning?: readonly Json[];
  readonly citations?: readonly Json[];
  readonly blocks?: readonly Json[];
}

/** The member `provider_metadata`; without parts there is none. */
export function metadataMember(namespace: string, parts: NativeParts): JsonObject {
  const said = Object.entries(parts).filter(([, values]) => values.length > 0);
  return said.length === 0 ? {} : { provider_metadata: { [namespace]: Object.fromEntries(said) } };
}

export const isThinking = ({ type }: JsonObject): boolean =>
  type === 'thinking' || type === 'redacted_thinking';
