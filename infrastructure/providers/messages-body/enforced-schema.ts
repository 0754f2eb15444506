import {
  isAbsent,
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  without,
} from '../../../domain/shared/json.ts';
import { withSubschemas } from '../../../domain/chat/subschemas.ts';
import { describedBy } from './flat-tool.ts';

/**
 * The schema of an answer or of a `strict` tool, which the upstream enforces. It rejects limits that it cannot enforce,
 * and objects that do not rule out other properties. Limits are told to the model in the description instead, as the
 * official SDKs of the messages API do (rule 17.40).
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */
export function enforcedSchema(given: JsonObject): JsonObject {
  const schema = withSubschemas(withoutOneOf(given), enforcedSchema);
  const limits = Object.entries(schema).filter(([key, value]) => isUnenforced(key, value));
  return {
    ...without(schema, ...limits.map(([key]) => key)),
    ...closed(schema),
    ...(limits.length > 0 && { description: describedBy(textOf(schema), Object.fromEntries(limits)) }),
  };
}

/** It rejects `oneOf`, which libraries write for a union whose members exclude each other anyway (rule 17.55). */
function withoutOneOf(schema: JsonObject): JsonObject {
  const { oneOf, anyOf, ...rest } = schema;
  return isArray(oneOf) && isAbsent(anyOf) ? { ...rest, anyOf: oneOf } : schema;
}

const unenforced: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'discriminator',
]);

/** The formats of a text that it knows. */
const formats: ReadonlySet<Json | undefined> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** A list may have to be non-empty, but not any longer than that. */
const isUnenforced = (key: string, value: Json | undefined): boolean =>
  unenforced.has(key) ||
  (key === 'minItems' && (numberOf(value) ?? 0) > 1) ||
  (key === 'format' && !formats.has(value));

const closed = ({ properties, additionalProperties }: JsonObject): JsonObject =>
  isObject(properties) && isAbsent(additionalProperties) ? { additionalProperties: false } : {};

const textOf = ({ description }: JsonObject): string => (isString(description) ? description : '');
