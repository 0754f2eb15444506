import { schemaMaxDepth, schemaMaxItems } from './bounds.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

type Maker = (name: string, schema: JsonObject, depth: number) => unknown;

const numberIn = (schema: JsonObject, name: string): number | undefined =>
  typeof schema[name] === 'number' ? schema[name] : undefined;

/** One, or the nearest number that the schema's limits allow. */
function numberFor(schema: JsonObject): number {
  const above = numberIn(schema, 'exclusiveMinimum') ?? -Infinity;
  const below = numberIn(schema, 'exclusiveMaximum') ?? Infinity;
  const least = numberIn(schema, 'minimum') ?? above + 1;
  const most = numberIn(schema, 'maximum') ?? below - 1;
  return Math.min(Math.max(1, least), most);
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2030-01-02T03:04:05Z',
  date: '2030-01-02',
  time: '03:04:05Z',
  email: 'simulated@example.com',
  uri: 'https://example.com/simulated',
  uuid: '00000000-0000-4000-8000-000000000000',
};

const stringFor: Maker = (name, schema) => {
  const { format } = schema;
  if (typeof format === 'string' && Object.hasOwn(formats, format)) return formats[format];
  return `simulated ${name}`.slice(0, numberIn(schema, 'maxLength'));
};

const arrayFor: Maker = (name, schema, depth) => {
  const items = isJsonObject(schema['items']) ? schema['items'] : {};
  const count = depth > schemaMaxDepth ? 0 : Math.min(numberIn(schema, 'minItems') ?? 0, schemaMaxItems);
  return Array.from({ length: count }, () => valueFor(name, items, depth + 1));
};

const makers: Readonly<Record<string, Maker>> = {
  object: (_, schema, depth) => objectFor(schema, depth + 1),
  array: arrayFor,
  string: stringFor,
  number: (_, schema) => numberFor(schema),
  integer: (_, schema) => numberFor(schema),
  boolean: () => true,
  null: () => null,
};

/** The first of a schema's alternatives that is not just null, or else the first. */
const alternative = ({ anyOf, oneOf }: JsonObject): JsonObject | undefined => {
  const choices: unknown = anyOf ?? oneOf;
  const schemas = Array.isArray(choices) ? choices.filter(isJsonObject) : [];
  return schemas.find((schema) => schema['type'] !== 'null') ?? schemas[0];
};

const typeOf = ({ type, properties }: JsonObject): unknown => {
  if (Array.isArray(type)) return type[0];
  return type ?? (properties === undefined ? 'string' : 'object');
};

const valueFor: Maker = (name, schema, depth) => {
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0] as unknown;
  const other = depth > schemaMaxDepth ? undefined : alternative(schema);
  if (other !== undefined) return valueFor(name, other, depth + 1);
  const type = typeOf(schema);
  const make = typeof type === 'string' && Object.hasOwn(makers, type) ? makers[type] : undefined;
  return (make ?? stringFor)(name, schema, depth);
};

/** An object with the required properties of a schema, good enough to run a tool with. */
export function objectFor(schema: JsonObject, depth: number = 0): JsonObject {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const names = depth > schemaMaxDepth ? [] : required.filter((name) => typeof name === 'string');
  return Object.fromEntries(
    names.map((name) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, valueFor(name, isJsonObject(property) ? property : {}, depth)];
    }),
  );
}
