import { isObject, type Json, type JsonObject, mapObjects, objectsOf, without } from '../shared/json.ts';

/** The namespaces in which the gateway tells callers what chat has no field for. */
const namespaces = ['compat', 'cloud_a_platform', 'cloud_b_platform'];

/** Whether callers send back, in a message, what the gateway added to an answer (rule 43.26). */
export const hasReturnedMetadata = (messages: Json | undefined): boolean =>
  objectsOf(messages).some(isReturned);

/** The messages without it. What others keep in the same field stays. */
export const withoutReturnedMetadata = (messages: Json | undefined): Json =>
  mapObjects(messages, (message) => (isReturned(message) ? withoutOwn(message) : message));

const isReturned = ({ provider_metadata: metadata }: JsonObject): boolean =>
  isObject(metadata) && namespaces.some((namespace) => Object.hasOwn(metadata, namespace));

function withoutOwn(message: JsonObject): JsonObject {
  const { provider_metadata: metadata } = message;
  const others = isObject(metadata) ? without(metadata, ...namespaces) : {};
  return Object.keys(others).length === 0
    ? without(message, 'provider_metadata')
    : { ...message, provider_metadata: others };
}
