import { isAbsent, isArray, isObject, isString, type Json, type JsonObject } from '../shared/json.ts';
import type { Digest } from '../shared/digest.ts';
import { maxItemIdChars } from '../shared/limits.ts';

/** The prefix for each item type that replay touches, and the form of a native id of that type. */
const namespaces: ReadonlyMap<Json | undefined, { readonly prefix: string; readonly native: RegExp }> =
  new Map([
    ['message', { prefix: 'msg_', native: /^msg_[A-Za-z0-9_-]+$/ }],
    ['reasoning', { prefix: 'rs_', native: /^rs_[A-Za-z0-9_-]+$/ }],
    ['function_call', { prefix: 'fc_', native: /^fc_[A-Za-z0-9_-]+$/ }],
    ['function_call_output', { prefix: 'fc_', native: /^fco?_[A-Za-z0-9_-]+$/ }],
  ]);

const callIdShape = /^[A-Za-z0-9_.:-]+$/;
const hasCallId: ReadonlySet<Json | undefined> = new Set(['function_call', 'function_call_output']);

/**
 * Responses replay keeps valid `fc_`, `rs_`, `msg_` item ids, hashes foreign or invalid ids into the matching bounded
 * namespace, and normalises matching `function_call` and `function_call_output` `call_id` values identically; missing
 * optional item ids stay missing. Request-local and stateless: the same id always becomes the same value. An item
 * without a type is a message. Other item types and references stay as they are.
 */
export const withReplayIds = (input: readonly Json[], digest: Digest): readonly Json[] =>
  input.map((item) => (isObject(item) ? withNativeIds(item, digest) : item));

/** Whether {@link withReplayIds} would change anything. */
export const needsReplayIds = (input: Json | undefined): input is readonly Json[] =>
  isArray(input) && input.some((item) => isObject(item) && foreignIds(item).length > 0);

interface ForeignId {
  readonly field: 'id' | 'call_id';
  readonly prefix: string;
  readonly value: string;
}

const withNativeIds = (item: JsonObject, digest: Digest): JsonObject => ({
  ...item,
  ...Object.fromEntries(foreignIds(item).map(({ field, prefix, value }) => [field, prefix + digest(value)])),
});

/** An item with a role and no type is a message: the API's short form of one has only a role and content. */
const typeOf = ({ type, role }: JsonObject): Json | undefined =>
  isAbsent(type) && isString(role) ? 'message' : type;

function foreignIds(item: JsonObject): readonly ForeignId[] {
  const { id, call_id: callId } = item;
  const type = typeOf(item);
  const found: ForeignId[] = [];
  const namespace = namespaces.get(type);
  if (namespace !== undefined && isString(id) && !isBounded(id, namespace.native))
    found.push({ field: 'id', prefix: namespace.prefix, value: id });
  if (hasCallId.has(type) && isString(callId) && !isBounded(callId, callIdShape))
    found.push({ field: 'call_id', prefix: 'call_', value: callId });
  return found;
}

const isBounded = (id: string, shape: RegExp): boolean => id.length <= maxItemIdChars && shape.test(id);
