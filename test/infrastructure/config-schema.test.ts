import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import * as t from 'io-ts';
import { configPage } from '../../infrastructure/config/config-page.ts';
import { gatewayCodec } from '../../infrastructure/config/config.ts';
import { gatewaySchemaText } from '../../infrastructure/config/gateway-schema.ts';
import { jsonSchemaOf } from '../../infrastructure/config/json-schema.ts';
import {
  type Field,
  list,
  object,
  optional,
  required,
  tagged,
  withDefault,
} from '../../infrastructure/config/object-codecs.ts';
import { boolean, choice, integer, text } from '../../infrastructure/config/scalar-codecs.ts';
import type { FieldShape, Shape } from '../../infrastructure/config/shape.ts';

/** Every member of every object below a shape, with its path. */
function fieldsOf(shape: Shape, path = ''): readonly (readonly [string, FieldShape])[] {
  if (shape.kind === 'list') return fieldsOf(shape.of, `${path}[]`);
  if (shape.kind === 'scalar-or-object') return fieldsOf(shape.object, path);
  if (shape.kind === 'tagged')
    return Object.entries(shape.cases).flatMap(([word, each]) => fieldsOf(each, `${path}<${word}>`));
  if (shape.kind !== 'object') return [];
  return Object.entries(shape.fields).flatMap(([key, field]) => [
    [`${path}.${key}`, field] as const,
    ...fieldsOf(field.shape, `${path}.${key}`),
  ]);
}

describe('config/gateway.schema.json', () => {
  it('is generated from the codec (to update: node infrastructure/config/write-schema.ts)', async () => {
    const committed = await readFile(new URL('../../config/gateway.schema.json', import.meta.url), 'utf8');
    expect(committed).toBe(gatewaySchemaText);
  });

  it('has a description for every key, and only valid Unicode patterns', () => {
    const fields = fieldsOf(gatewayCodec.shape);
    expect(fields.length).toBeGreaterThan(120);
    for (const [path, { doc }] of fields)
      expect([path, doc]).toEqual([path, expect.stringMatching(/\S.*\.$/)]);
    for (const [, pattern] of gatewaySchemaText.matchAll(/"pattern": (".*")/g))
      expect(() => new RegExp(JSON.parse(pattern!) as string, 'u')).not.toThrow();
  });

  it('has only defaults that the codec accepts', () => {
    for (const [path, field] of fieldsOf(gatewayCodec.shape)) {
      if (field.presence.kind !== 'default') continue;
      const { codec } = field as Field<unknown>;
      expect([path, codec.decode(field.presence.input)]).toMatchObject([path, { _tag: 'Right' }]);
    }
  });
});

describe('config/example.yaml', () => {
  it('shows every key', async () => {
    const example = await readFile(new URL('../../config/example.yaml', import.meta.url), 'utf8');
    const words = new Set(example.match(/\w+/g));
    const paths = fieldsOf(gatewayCodec.shape).map(([path]) => path);
    expect(paths.filter((path) => !words.has(path.slice(path.lastIndexOf('.') + 1)))).toEqual([]);
  });
});

describe('docs/configuration.md', () => {
  it('is generated from the codec (to update: npm run schema)', async () => {
    const committed = await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
    expect(committed).toBe(configPage());
  });

  it('has a row of four cells for each key below a section', () => {
    const rows = configPage()
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const told = new Set(rows.map((row) => /^\| `([^`]+)` \|/.exec(row)?.[1]));
    const keys = fieldsOf(gatewayCodec.shape).map(([path]) => path.slice(1).replaceAll(/<\w+>/g, ''));
    const tags = ['providers[].type', 'providers[].auth.mode', 'mcp_servers[].auth.mode', 'export.auth.mode'];
    const below = keys.filter((path) => /[.[]/.test(path));
    expect(told).toEqual(new Set([...below, ...tags]));
    for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(6);
  });
});

describe('a codec as JSON Schema', () => {
  const placeholder = { $ref: '#/$defs/placeholder' };

  it('has limits, defaults, choices, cases and required keys', () => {
    const codec = object({
      size: required(integer({ min: 1, max: 9 }), 'Size.'),
      mode: withDefault(choice(['a', 'b']), 'a', 'Mode.'),
      tags: optional(list(text({ what: 'a tag', maxLength: 5, pattern: /^x/ }), 3), 'Tags.'),
      auth: optional(
        tagged('mode', 'Auth.', { none: {}, token: { token: required(boolean, 'Token.') } }),
        'Auth.',
      ),
    });
    expect(jsonSchemaOf('T', codec.shape)).toMatchObject({
      title: 'T',
      type: 'object',
      required: ['size'],
      additionalProperties: false,
      properties: {
        size: { description: 'Size.', anyOf: [{ type: 'integer', minimum: 1, maximum: 9 }, placeholder] },
        mode: { description: 'Mode.', anyOf: [{ enum: ['a', 'b'] }, placeholder], default: 'a' },
        tags: {
          type: 'array',
          maxItems: 3,
          items: { anyOf: [{ type: 'string', minLength: 1, maxLength: 5, pattern: '^x' }, placeholder] },
        },
        auth: {
          oneOf: [
            { required: ['mode'], properties: { mode: { const: 'none' } }, additionalProperties: false },
            { required: ['mode', 'token'], properties: { mode: { const: 'token' } } },
          ],
        },
      },
    });
  });

  it('is an io-ts type', () => {
    expect(gatewayCodec).toBeInstanceOf(t.Type);
  });
});
