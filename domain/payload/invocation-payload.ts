import type { Json } from '../shared/json.ts';
import { maxEventLoopBodyBytes, maxInvocationJsonBytes } from '../shared/limits.ts';
import { type StoredPayload, stored } from './payload.ts';
import type { RedactionRules } from './redact.ts';
import { truncationMarker } from './truncate.ts';
import { type InvocationRoot, wrapInvocation, wrappable } from './wrap.ts';

/** What a tool was called with and what it answered. `undefined` when there were no arguments, or no answer. */
export interface InvocationPayload {
  readonly arguments: Json | undefined;
  readonly result: Json | undefined;
  /** A JSON-RPC error, which takes the place of a result. */
  readonly error?: Json | undefined;
}

export interface StoredInvocation {
  readonly arguments: StoredPayload | undefined;
  readonly result: StoredPayload | undefined;
}

/**
 * Both sides as they are stored, under the same rules as all payloads. The wrapped payload roots are `{arguments}` and
 * `{result}`, so admin paths begin there. The wraps are not stored.
 */
export const redactedInvocation = (payload: InvocationPayload, rules: RedactionRules): StoredInvocation => ({
  arguments: unwrapped('arguments', payload.arguments, rules),
  result: answered(payload, rules),
});

/** Some servers write a `result` of null beside their error. */
const answered = ({ result, error }: InvocationPayload, rules: RedactionRules): StoredPayload | undefined =>
  (result ?? undefined) === undefined && error !== undefined
    ? unwrapped('error', error, inPlaceOfResult(rules))
    : unwrapped('result', result, rules);

/** A JSON-RPC error is redacted as an error throughout. Admin paths for `result` apply to it. */
function inPlaceOfResult({ paths, secrets }: RedactionRules): RedactionRules {
  const keys = new Map(paths.keys);
  const result = keys.get('result');
  if (result === undefined) keys.delete('error');
  else keys.set('error', result);
  return { paths: { ...paths, keys }, secrets };
}

function unwrapped(
  root: InvocationRoot,
  value: Json | undefined,
  rules: RedactionRules,
): StoredPayload | undefined {
  if (value === undefined) return undefined;
  const before = `{"${root}":`;
  const wrapChars = before.length + '}'.length;
  const whole = JSON.stringify(value);
  const isTooLarge = whole.length > maxEventLoopBodyBytes;
  const read = wrappable(isTooLarge ? withoutLongTexts(value) : whole, true);
  const wrapped = wrapInvocation(root, read.value);
  const { text, truncated } = stored(
    wrapped,
    isTooLarge || read.truncated,
    rules,
    maxInvocationJsonBytes + wrapChars,
  );
  return { text: text.slice(before.length, -1), truncated };
}

/**
 * The JSON of a value that is too large to be searched: strings longer than a record has room for are left out, and
 * when that is not enough, all of it. Because they are left out whole, no part of a secret remains.
 */
function withoutLongTexts(value: Json): string {
  const all = JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'string' && inner.length > maxInvocationJsonBytes
      ? truncationMarker(inner.length)
      : inner,
  );
  return all.length > maxEventLoopBodyBytes ? JSON.stringify(truncationMarker(all.length)) : all;
}
