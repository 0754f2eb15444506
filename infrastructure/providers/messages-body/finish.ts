import type { Json } from '../../../domain/shared/json.ts';

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
