import type { Json } from '../../../domain/shared/json.ts';

const finishReasons: ReadonlyMap<Json | undefined, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/**
 * A stop reason in chat's words. All others end the turn, unless there are calls: who is told `stop` answers none.
 * `tool_use` is one of them, because who is told of calls where there are none waits for them.
 */
export const finishReason = (stopReason: Json | undefined, called: boolean): string =>
  finishReasons.get(stopReason) ?? (called ? 'tool_calls' : 'stop');
