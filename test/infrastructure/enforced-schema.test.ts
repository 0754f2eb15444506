import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../domain/shared/json.ts';
import { parseExactObject } from '../../domain/shared/json.ts';
import { enforcedSchema } from '../../infrastructure/providers/messages-body/enforced-schema.ts';
import { invokeRules, rawPredictRules } from '../../infrastructure/providers/messages-body/rules.ts';
import { minimal, sent } from './messages-body-sending.ts';
import { sent as sentUnified } from './unified-sending.ts';

const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const closed = (properties: JsonObject): JsonObject => ({
  ...object(properties),
  additionalProperties: false,
});

describe('a schema that the upstream enforces', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'of a number',
      { type: 'integer', minimum: 1, exclusiveMaximum: 5, multipleOf: 2 },
      { type: 'integer', description: '{minimum: 1, exclusiveMaximum: 5, multipleOf: 2}' },
    ],
    [
      'of a text, behind its description',
      { type: 'string', description: 'A city.', minLength: 1, maxLength: 9, pattern: '^a', format: 'email' },
      {
        type: 'string',
        description: 'A city.\n\n{minLength: 1, maxLength: 9}',
        pattern: '^a',
        format: 'email',
      },
    ],
    [
      'of a list',
      { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 3, uniqueItems: true },
      {
        type: 'array',
        items: { type: 'string' },
        description: '{minItems: 2, maxItems: 3, uniqueItems: true}',
      },
    ],
    [
      'of an object',
      { ...closed({}), minProperties: 1, maxProperties: 2 },
      { ...closed({}), description: '{minProperties: 1, maxProperties: 2}' },
    ],
    [
      'of a text in a format that it does not know',
      { type: 'string', format: 'binary' },
      { type: 'string', description: '{format: "binary"}' },
    ],
  ])('has the limits %s in the description', (_, schema, expected) => {
    expect(enforcedSchema(schema)).toEqual(expected);
  });

  it.each([[0], [1]])('keeps `minItems: %i`', (minItems) => {
    const schema = { type: 'array', items: { type: 'string' }, minItems };
    expect(enforcedSchema(schema)).toEqual(schema);
  });

  it('is the same at any depth, whatever its properties are called', () => {
    const limited = { type: 'integer', minimum: 1 };
    const told = { type: 'integer', description: '{minimum: 1}' };
    const nested = (inner: JsonObject, wrap: typeof object): JsonObject => ({
      ...wrap({
        minimum: inner,
        list: { type: 'array', items: wrap({ a: inner }) },
        any: { anyOf: [inner] },
      }),
      $defs: { maximum: inner },
      allOf: [wrap({ b: inner }), true],
    });
    expect(enforcedSchema(nested(limited, object))).toEqual(nested(told, closed));
  });

  it.each([
    ['date-time'],
    ['time'],
    ['date'],
    ['duration'],
    ['email'],
    ['hostname'],
    ['uri'],
    ['ipv4'],
    ['ipv6'],
    ['uuid'],
  ])('keeps the format %s', (format) => {
    expect(enforcedSchema({ type: 'string', format })).toEqual({ type: 'string', format });
  });

  it.each([
    ['minimum'],
    ['maximum'],
    ['exclusiveMinimum'],
    ['exclusiveMaximum'],
    ['multipleOf'],
    ['minLength'],
    ['maxLength'],
    ['maxItems'],
    ['uniqueItems'],
    ['minProperties'],
    ['maxProperties'],
    ['discriminator'],
  ])('has the limit %s in the description', (limit) => {
    expect(enforcedSchema({ [limit]: 1 })).toEqual({ description: `{${limit}: 1}` });
  });

  it('keeps what is not a schema in the place of one', () => {
    const schema = { type: 'object', properties: null, $defs: ['a'], items: 7, anyOf: [true, 'a'] };
    expect(enforcedSchema(schema)).toEqual(schema);
  });

  it('has `anyOf` in the place of `oneOf`, which it rejects', () => {
    const [a, b] = [{ a: { const: 1 } }, { b: { type: 'string' } }];
    const union = { oneOf: [object(a), object(b)], discriminator: { propertyName: 'a' } };
    const told = { anyOf: [closed(a), closed(b)], description: '{discriminator: {"propertyName":"a"}}' };
    expect(enforcedSchema(object({ oneOf: union }))).toEqual(closed({ oneOf: told }));
    const both = { anyOf: [{ type: 'string' }], oneOf: [{ type: 'string' }] };
    expect(enforcedSchema(both)).toEqual(both);
  });

  it('rules out other properties only of objects that name some, and that do not speak of others', () => {
    const open = { ...object({}), additionalProperties: { type: 'string' } };
    for (const schema of [open, { type: 'object' }, closed({})])
      expect(enforcedSchema(schema)).toEqual(schema);
  });

  it('keeps every digit', () => {
    const schema = parseExactObject('{"const":1.10,"maximum":12345678901234567890.50}');
    expect(JSON.stringify(enforcedSchema(schema))).toBe(
      '{"const":1.10,"description":"{maximum: 12345678901234567890.50}"}',
    );
  });
});

describe('limits that the upstream does not enforce', () => {
  const parameters = object({ n: { type: 'integer', minimum: 1 } });
  const enforced = closed({ n: { type: 'integer', description: '{minimum: 1}' } });
  const tools = (strict: boolean): JsonObject => ({
    tools: [{ type: 'function', function: { name: 'f', parameters, strict } }],
  });

  it.each([
    [true, enforced],
    [false, parameters],
  ])('are described in a tool if `strict` is sent as true: %s', (strict, schema) => {
    for (const rules of [rawPredictRules, invokeRules])
      expect(sent({ ...minimal, ...tools(strict) }, rules)['tools']).toMatchObject([
        { input_schema: schema },
      ]);
    expect(sentUnified(tools(strict), { model: 'anthropic.claude-sonnet-4-5-v1:0' })['toolConfig']).toEqual({
      tools: [{ toolSpec: { name: 'f', inputSchema: { json: schema }, strict } }],
    });
  });

  it('stay in a strict tool of a model that does not support `strict`', () => {
    const upstreamModel = 'us.anthropic.claude-opus-4-7';
    expect(sent({ ...minimal, ...tools(true) }, invokeRules, { upstreamModel })['tools']).toEqual([
      { type: 'custom', name: 'f', input_schema: parameters },
    ]);
  });

  it('are described in the schema of a `response_format`', () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'a', schema: parameters } };
    expect(sent({ ...minimal, response_format }, rawPredictRules)['output_config']).toEqual({
      format: { type: 'json_schema', schema: enforced },
    });
  });

  it('are described in the same place as what a `response_format` is for', () => {
    const schema = { type: 'string', minLength: 1 };
    const json_schema = { name: 'a', description: 'A bill.', schema };
    const response_format = { type: 'json_schema', json_schema };
    expect(sent({ ...minimal, response_format }, rawPredictRules)['output_config']).toMatchObject({
      format: { schema: { type: 'string', description: 'A bill.\n\n{minLength: 1}' } },
    });
  });
});
