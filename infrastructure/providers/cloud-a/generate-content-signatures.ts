import { carriedSignature } from '../../../domain/calls/thought-signature.ts';
import {
  isObject,
  isAbsent,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
} from '../../../domain/shared/json.ts';

/** The metadata namespace of this platform. */
export const namespace = 'cloud_a_platform';

/** A call's thought signature as an entry of the reasoning metadata, for clients that keep only that. */
export const callSignature = (id: string, signature: string): JsonObject => ({
  type: 'thinking',
  thinking: '',
  signature,
  tool_call_id: id,
});

/** The signature that a call or an image in an assistant's message carries. */
export const signatureIn = (holder: JsonObject): string | undefined =>
  carriedSignature(holder) ?? textAt(holder, ['provider_metadata', namespace, 'thought_signature']);

/**
 * The signature of the call at this place of an assistant's message, from the call itself or from the message's
 * metadata. A signature that names no call belongs to the first call, if the message has no other content that it could
 * sign.
 */
export function signatureOfCall(call: JsonObject, place: number, message: JsonObject): string | undefined {
  const own = signatureIn(call);
  if (own !== undefined) return own;
  const mayGuess = place === 0 && (isAbsent(message['content']) || message['content'] === '');
  const { id } = call;
  const found = objectsOf(valueAt(message, ['provider_metadata', namespace, 'reasoning'])).find(
    ({ thinking, signature, tool_call_id }) =>
      thinking === '' && isText(signature) && (isText(tool_call_id) ? tool_call_id === id : mayGuess),
  );
  return isText(found?.['signature']) ? found['signature'] : undefined;
}

const isText = (value: Json | undefined): value is string => isString(value) && value !== '';

const valueAt = (holder: JsonObject, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((value, key) => (isObject(value) ? value[key] : undefined), holder);

function textAt(holder: JsonObject, path: readonly string[]): string | undefined {
  const value = valueAt(holder, path);
  return isText(value) ? value : undefined;
}
