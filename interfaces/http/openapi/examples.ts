import { isArray, isObject, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';

/** Example values for fields whose name says more than their type. */
const byName: Readonly<Record<string, Json>> = {
  model: 'fast',
  model_id: 'fast',
  model_key: 'fast',
  resolved_model_key: 'fast',
  messages: [{ role: 'user', content: 'Say hello.' }],
  input: 'Say hello.',
  max_tokens: 100,
  cadence: 'monthly',
  amount_10000: 1_000_000,
  hard_limit: true,
  timezone: 'UTC',
  email: 'ada@example.com',
  password: 'a-long-passphrase-of-your-own',
  current_password: 'a-long-passphrase-of-your-own',
  new_password: 'another-long-passphrase-of-your-own',
  name: 'Ada',
  user_name: 'Ada',
  owner_id: '019a0000-0000-7000-8000-000000000001',
  owner_name: 'Platform',
  team_id: 'platform',
  team_name: 'Platform',
  provider_key: 'openai',
  // Must be in the future for a call that sends it.
  expires_at: '2099-01-31T12:00:00.000Z',
};

const byFormat: Readonly<Record<string, string>> = {
  uuid: '019a0000-0000-7000-8000-000000000001',
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  email: 'ada@example.com',
  uri: 'https://gateway.example.com/',
};

/** The example for a member of this name. A flag may share its name with a text elsewhere. */
const knownAs = (name: string, type: Json | undefined): Json | undefined =>
  Object.hasOwn(byName, name) && type !== 'boolean' ? byName[name] : undefined;

/** A value that a schema allows. `name` is the member that holds it. */
export function exampleOf(schema: JsonObject, name = ''): Json {
  const { enum: words, anyOf, type, default: unasked } = schema;
  if (isArray(words)) return words[0] ?? null;
  const known = knownAs(name, type);
  if (known !== undefined) return known;
  if (unasked !== undefined) return unasked;
  if (isArray(anyOf)) return isObject(anyOf[0]) ? exampleOf(anyOf[0], name) : null;
  return (isString(type) ? byType[type]?.(schema) : undefined) ?? {};
}

const byType: Readonly<Record<string, (schema: JsonObject) => Json>> = {
  object: ({ properties }) =>
    Object.fromEntries(
      Object.entries(isObject(properties) ? properties : {}).map(([member, inner]) => [
        member,
        exampleOf(isObject(inner) ? inner : {}, member),
      ]),
    ),
  array: ({ items }) => (isObject(items) ? [exampleOf(items)] : []),
  integer: ({ minimum }) => minimum ?? 1,
  number: ({ minimum }) => minimum ?? 1,
  boolean: () => false,
  string: ({ format, examples }) =>
    (isArray(examples) ? examples[0] : undefined) ??
    (isString(format) ? byFormat[format] : undefined) ??
    'text',
};
