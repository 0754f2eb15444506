import type { Json, JsonObject } from '../../domain/shared/json.ts';
import type { FieldShape, ObjectShape, Shape, TaggedShape, TextShape } from './shape.ts';

/** An environment variable or a file may replace any scalar, so editors must accept a placeholder there. */
const placeholder = { $ref: '#/$defs/placeholder' };

/** The JSON Schema (2020-12) of the values that a codec accepts, made from the codec's shape. */
export const jsonSchemaOf = (title: string, shape: Shape): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title,
  ...schemaOf(shape),
  $defs: {
    placeholder: {
      description: 'The value of an environment variable, or the content of a file.',
      type: 'string',
      pattern: '\\$\\{([A-Za-z_][A-Za-z0-9_]*|file:/[^}]+)\\}',
    },
  },
});

function schemaOf(shape: Shape): JsonObject {
  switch (shape.kind) {
    case 'text':
      return textSchema(shape);
    case 'number':
      return orPlaceholder({
        type: shape.integer ? 'integer' : 'number',
        minimum: shape.minimum,
        maximum: shape.maximum,
      });
    case 'boolean':
      return orPlaceholder({ type: 'boolean' });
    case 'choice':
      return orPlaceholder({ enum: shape.values });
    case 'list':
      return { type: 'array', items: schemaOf(shape.of), maxItems: shape.maxItems };
    case 'headers':
      return {
        type: 'object',
        propertyNames: { pattern: shape.namePattern },
        additionalProperties: { type: 'string', pattern: shape.valuePattern },
        maxProperties: shape.maxEntries,
      };
    case 'json-object':
      return { type: 'object' };
    case 'object':
      return objectSchema(shape, {});
    case 'tagged':
      return taggedSchema(shape);
    case 'scalar-or-object':
      return { anyOf: [schemaOf(shape.scalar), schemaOf(shape.object)] };
  }
}

const orPlaceholder = (...schemas: readonly JsonObject[]): JsonObject => ({
  anyOf: [...schemas, placeholder],
});

function textSchema({ maxLength, pattern, orNumber }: TextShape): JsonObject {
  const text: JsonObject = {
    type: 'string',
    minLength: 1,
    maxLength,
    ...(pattern === undefined ? {} : { pattern }),
  };
  if (orNumber) return orPlaceholder(text, { type: 'number', minimum: 0 });
  return pattern === undefined ? text : orPlaceholder(text);
}

/** `constants` are members with one value, such as the tag of a case. */
const objectSchema = ({ fields }: ObjectShape, constants: JsonObject): JsonObject => ({
  type: 'object',
  properties: {
    ...constants,
    ...Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, fieldSchema(field)])),
  },
  required: [
    ...Object.keys(constants),
    ...Object.entries(fields).flatMap(([key, { presence }]) => (presence.kind === 'required' ? [key] : [])),
  ],
  additionalProperties: false,
});

const fieldSchema = ({ doc, presence, shape }: FieldShape): JsonObject => ({
  description: doc,
  ...schemaOf(shape),
  ...(presence.kind === 'default' ? { default: presence.input } : {}),
});

const taggedSchema = ({ tag, doc, cases }: TaggedShape): JsonObject => ({
  oneOf: Object.entries(cases).map(
    ([word, object]): Json => objectSchema(object, { [tag]: { description: doc, const: word } }),
  ),
});
