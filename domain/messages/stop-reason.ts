import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, isString, type Json, type JsonObject, membersOf } from '../shared/json.ts';

/** Why a chat answer ended, by the upstream's name for it in small letters: some write it in capitals. */
const stopReasons: ReadonlyMap<string, string> = new Map([
  ['length', 'max_tokens'],
  ['model_length', 'max_tokens'],
  ['max_tokens', 'max_tokens'],
  ['max_output_tokens', 'max_tokens'],
  ['time_limit', 'max_tokens'],
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

/** Some upstreams say behind a colon what was filtered; a call that was malformed is withheld in the same way. */
const filtered = /^(?:content|function_call)_filter/;

/** The upstream has failed: what there is of the answer is no answer. Some put the type of their error there. */
const failed = /^(?:insufficient_system_resource|abort|cancelled|[a-z_]{0,32}error)$/;

/** Stop reasons that a `finish_reason` says in full; the last two are converse's own. */
const inChat: ReadonlySet<string> = new Set([
  'end_turn',
  'max_tokens',
  'tool_use',
  'refusal',
  'guardrail_intervened',
  'content_filtered',
]);

/**
 * The stop reason, if chat has no word for it: a translation to chat keeps it in the provider's metadata, also one that
 * nobody knows yet.
 */
export const stopBeyondChat = (stopReason: Json | undefined): string | undefined =>
  isString(stopReason) && stopReason !== '' && !inChat.has(stopReason) ? stopReason : undefined;

/** Those that messages callers know. */
const inMessages: ReadonlySet<Json | undefined> = new Set([
  'stop_sequence',
  'model_context_window_exceeded',
  'pause_turn',
  'compaction',
]);

const knownStop = (stopReason: Json | undefined): string | undefined =>
  isString(stopReason) && inMessages.has(stopReason) ? stopReason : undefined;

/**
 * The one that a completion or chunk keeps in `provider_metadata.<provider>.stop_reason`. Others than messages callers
 * know are passed over, because a chat upstream may have words of its own there.
 */
export function keptStop({ provider_metadata: metadata }: JsonObject): string | undefined {
  if (!isObject(metadata)) return undefined;
  const kept = Object.values(metadata).map((own) => knownStop(membersOf(own)['stop_reason']));
  return kept.find((stop) => stop !== undefined);
}

/**
 * The stop reason that a `finish_reason` means; left is how the upstream has failed. `stop`, `tool_calls` and reasons
 * that nobody knows end the turn, unless there are calls: some upstreams say `stop` where they wait for a tool, and some
 * `tool_calls` where they have called none. A call that was cut off is not to be run: some say `tool_calls` even where
 * their limit has cut it off. A stop reason that was kept says more.
 */
export function stopReason(
  finish: Json | undefined,
  answer: {
    readonly called: boolean;
    /** The arguments of a call were cut off. */
    readonly cutOff: boolean;
    readonly refused: boolean;
    readonly kept: string | undefined;
  },
): Either<string, string> {
  const reason = isString(finish) ? finish.toLowerCase() : '';
  if (failed.test(reason)) return E.left(`The upstream did not finish its answer (${reason}).`);
  if (answer.refused || filtered.test(reason)) return E.right('refusal');
  const meant = stopReasons.get(reason);
  if (meant === undefined && answer.called) return E.right(answer.cutOff ? 'max_tokens' : 'tool_use');
  return E.right(answer.kept ?? knownStop(reason) ?? meant ?? 'end_turn');
}
