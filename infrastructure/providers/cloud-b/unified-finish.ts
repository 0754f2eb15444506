import { isString, type Json } from '../../../domain/shared/json.ts';

/** The platform's stop reasons as finish reasons of chat completions. All others end the turn. */
const finishReasons: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['refusal', 'content_filter'],
]);

/** The platform could not read the model's output, so that the answer is incomplete. */
const failures: ReadonlySet<string> = new Set(['malformed_model_output', 'malformed_tool_use']);

export type Stop =
  | { readonly kind: 'finished'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string }
  /** The answer has no stop reason, which is a fault. */
  | { readonly kind: 'unknown' };

/**
 * The calls decide between `tool_calls` and `stop`, because clients act on the finish reason: some models report the
 * end of the turn when they wait for a tool, and some report tool use without a call.
 */
export function stopOf(stopReason: Json | undefined, called: boolean): Stop {
  if (!isString(stopReason) || stopReason === '') return { kind: 'unknown' };
  if (failures.has(stopReason))
    return { kind: 'failed', message: `The upstream could not read the model's answer (${stopReason}).` };
  return { kind: 'finished', reason: finishReasons.get(stopReason) ?? (called ? 'tool_calls' : 'stop') };
}
