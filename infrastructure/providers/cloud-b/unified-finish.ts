import { isString, type Json } from '../../../domain/shared/json.ts';

/** Why the platform's model stopped, in the words of chat completions; all others end the turn. */
const finishReasons: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['refusal', 'content_filter'],
]);

/** The model made something that the platform could not read: what there is of the answer is no answer. */
const failures: ReadonlySet<string> = new Set(['malformed_model_output', 'malformed_tool_use']);

export type Stop =
  | { readonly kind: 'finished'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string }
  /** An answer must say why it stopped. */
  | { readonly kind: 'unknown' };

/**
 * Some models say that the turn has ended where they wait for a tool, and some that they do where they have called none:
 * callers go by the finish reason.
 */
export function stopOf(stopReason: Json | undefined, called: boolean): Stop {
  if (!isString(stopReason) || stopReason === '') return { kind: 'unknown' };
  if (failures.has(stopReason))
    return { kind: 'failed', message: `The upstream could not read the model's answer (${stopReason}).` };
  return { kind: 'finished', reason: finishReasons.get(stopReason) ?? (called ? 'tool_calls' : 'stop') };
}
