import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, isString, type Json, type JsonObject, membersOf, textIn } from '../shared/json.ts';

/** Stop reasons by the upstream's `finish_reason` in lower case: some upstreams write it in upper case. */
const stopReasons: ReadonlyMap<string, string> = new Map([
  ['length', 'max_tokens'],
  ['model_length', 'max_tokens'],
  ['max_tokens', 'max_tokens'],
  ['max_output_tokens', 'max_tokens'],
  ['time_limit', 'max_tokens'],
  // vLLM ends an answer that repeats itself, and no word of the messages family says that.
  ['repetition', 'max_tokens'],
  ['model_context_window_exceeded', 'model_context_window_exceeded'],
  ['refusal', 'refusal'],
  ['guardrail_intervened', 'refusal'],
  ['sensitive', 'refusal'],
  ['safety', 'refusal'],
  ['recitation', 'refusal'],
  ['prohibited_content', 'refusal'],
  ['blocklist', 'refusal'],
  ['spii', 'refusal'],
]);

/** Some upstreams append after a colon what was filtered. A malformed call is withheld in the same way. */
const filtered = /^(?:content|function_call)_filter/;

/** The upstream has failed, so its output is not an answer. Some upstreams put the type of their error there. */
const failed = /^(?:insufficient_system_resource|abort|cancelled|[a-z_]{0,32}error)$/;

/** Stop reasons that a `finish_reason` expresses fully; the last two are converse's own. */
const inChat: ReadonlySet<string> = new Set([
  'end_turn',
  'max_tokens',
  'tool_use',
  'refusal',
  'guardrail_intervened',
  'content_filtered',
]);

/**
 * The stop reason, if no `finish_reason` expresses it. A translation to chat keeps it in the provider's metadata, even
 * when it is unknown here.
 */
export const nonChatStopReason = (stopReason: Json | undefined): string | undefined =>
  isString(stopReason) && stopReason !== '' && !inChat.has(stopReason) ? stopReason : undefined;

/** Those among them that messages callers know. */
const inMessages: ReadonlySet<Json | undefined> = new Set([
  'stop_sequence',
  'model_context_window_exceeded',
  'pause_turn',
  'compaction',
]);

const knownStop = (stopReason: Json | undefined): string | undefined =>
  isString(stopReason) && inMessages.has(stopReason) ? stopReason : undefined;

/**
 * The stop reason that a completion or chunk keeps in `provider_metadata.<provider>.stop_reason`. One that messages
 * callers do not know is ignored, because a chat upstream may use words of its own there.
 */
export function preservedStopReason({ provider_metadata: metadata }: JsonObject): string | undefined {
  if (!isObject(metadata)) return undefined;
  const kept = Object.values(metadata).map((own) => knownStop(membersOf(own)['stop_reason']));
  return kept.find((stop) => stop !== undefined);
}

/**
 * The stop reason for a `finish_reason`; left says how the upstream failed. `stop`, `tool_calls` and unknown reasons
 * end the turn unless there are calls, because some upstreams say `stop` while they wait for a tool, and some say
 * `tool_calls` without a call. A truncated call must not be run: some upstreams say `tool_calls` even when their limit
 * has truncated it. A kept stop reason is more specific.
 */
export function stopReason(
  finish: Json | undefined,
  answer: {
    readonly called: boolean;
    /** Whether the arguments of a call were truncated. */
    readonly cutOff: boolean;
    readonly refused: boolean;
    readonly kept: string | undefined;
  },
): Either<string, string> {
  const reason = textIn(finish).toLowerCase();
  if (failed.test(reason)) return E.left(`The upstream did not finish its answer (${reason}).`);
  if (answer.refused || filtered.test(reason)) return E.right('refusal');
  const meant = stopReasons.get(reason);
  if (meant === undefined && answer.called) return E.right(answer.cutOff ? 'max_tokens' : 'tool_use');
  return E.right(answer.kept ?? knownStop(reason) ?? meant ?? 'end_turn');
}
