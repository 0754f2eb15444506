import type { Json } from '../../../domain/shared/json.ts';

const finishReasons: ReadonlyMap<Json | undefined, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/**
 * The finish reason for a stop reason. Any other stop reason becomes `tool_calls` if there are calls, because a client
 * that gets `stop` does not answer them, and otherwise `stop`. That includes `tool_use`, because a client that gets
 * `tool_calls` without any calls would wait for them.
 */
export const finishReason = (stopReason: Json | undefined, called: boolean): string =>
  finishReasons.get(stopReason) ?? (called ? 'tool_calls' : 'stop');
