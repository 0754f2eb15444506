import { describe, expect, it } from '@jest/globals';
import { maxJsonDepth } from '../../domain/shared/limits.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { asNovaTool } from '../../infrastructure/providers/cloud-b/unified-schema.ts';
import { steepGrowth, times } from '../support/growth/growth.ts';
import { sent, tool } from './unified-sending.ts';

const model = 'us.amazon.nova-pro-v1:0';

/** The specification of a tool with this schema. */
const spec = (parameters: JsonObject, more: JsonObject = {}, on = model): unknown => {
  const { toolConfig } = sent({ tools: [tool('f', { parameters, ...more })] }, { model: on });
  return (toolConfig as { tools: readonly { toolSpec: unknown }[] }).tools[0]?.toolSpec;
};

const properties = { a: { type: 'string', description: 'b', additionalProperties: false } };

const head: JsonObject = { properties: { a: { $ref: '#/$defs/d0' } } };

const heads = (count: number): JsonObject => ({
  properties: Object.fromEntries(times(count, (index) => [`p${index}`, { $ref: '#/$defs/d0' }])),
});

/** So many definitions, each with the properties that refer to the next one. */
const definitions = (count: number, make: (next: JsonObject) => JsonObject): JsonObject =>
  Object.fromEntries(
    times(count, (index) => [`d${index}`, { properties: make({ $ref: `#/$defs/d${index + 1}` }) }]),
  );

/** A schema that holds so many others, each inside the one before and referred to beside its place. */
function nested(levels: number): JsonObject {
  let schema: JsonObject = { enum: times(15_000, (index) => index) };
  for (let level = levels; level > 0; level -= 1) {
    const below = `#/$defs/d0${'/properties/b'.repeat(level)}`;
    schema = { properties: { a: { $ref: below }, b: schema } };
  }
  return schema;
}

describe('tools of Nova models', () => {
  it('have only a type, properties and required fields at the top level of the schema', () => {
    const parameters = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'F',
      type: 'object',
      properties,
      required: ['a'],
      additionalProperties: false,
    };
    expect(spec(parameters)).toEqual({
      name: 'f',
      inputSchema: { json: { type: 'object', properties, required: ['a'] } },
    });
    expect(spec(parameters, {}, 'qwen.qwen3-32b-v1:0')).toEqual({
      name: 'f',
      inputSchema: { json: parameters },
    });
  });

  it.each([
    ['the tool', { description: 'Finds.' }, 'Finds.'],
    ['the schema, if the tool has none', {}, 'Of the schema.'],
  ])('have the description of %s', (_, more, description) => {
    expect(spec({ description: 'Of the schema.', properties }, more)).toMatchObject({ description });
  });

  it('have other limits of the arguments in the description', () => {
    const anyOf = [{ required: ['a'] }, { required: ['b'] }];
    expect(spec({ properties, anyOf }, { description: 'Finds.' })).toMatchObject({
      description: 'Finds.\n\n{anyOf: [{"required":["a"]},{"required":["b"]}]}',
    });
    expect(spec({ properties, minProperties: 1 })).toMatchObject({ description: '{minProperties: 1}' });
  });

  it('have what a reference refers to in its place', () => {
    const $defs = {
      'a/b': { type: 'object', properties: { c: { $ref: '#/$defs/C' } } },
      C: { enum: [1.0, 'd'] },
    };
    expect(
      spec({
        $defs,
        properties: { x: { $ref: '#/$defs/a~1b', description: 'X' }, y: { items: [{ $ref: '#/$defs/C' }] } },
      }),
    ).toEqual({
      name: 'f',
      inputSchema: {
        json: {
          type: 'object',
          properties: {
            x: { type: 'object', properties: { c: { enum: [1, 'd'] } }, description: 'X' },
            y: { items: [{ enum: [1, 'd'] }] },
          },
        },
      },
    });
  });

  it('have the schema that the whole schema refers to', () => {
    const Args = { type: 'object', properties, additionalProperties: false };
    expect(spec({ $ref: '#/definitions/Args', definitions: { Args } })).toEqual({
      name: 'f',
      inputSchema: { json: { type: 'object', properties } },
    });
  });

  it.each(['#/$defs/None', '#/$defs/toString', 'https://example.com/s.json', '#'])(
    'have no reference that cannot be replaced: %s',
    ($ref) => {
      expect(spec({ $defs: {}, properties: { a: { $ref, title: 'A' } } })).toMatchObject({
        inputSchema: { json: { properties: { a: { title: 'A' } } } },
      });
    },
  );

  it('have a schema that refers to itself once', () => {
    const Node = { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } };
    expect(spec({ $defs: { Node }, properties: { head: { $ref: '#/$defs/Node' } } })).toMatchObject({
      inputSchema: { json: { properties: { head: { type: 'object', properties: { next: {} } } } } },
    });
  });

  it('have a schema of bounded depth where references lead to each other without end', () => {
    const $defs = definitions(8000, (next) => ({ a: next }));
    const written = JSON.stringify(spec({ $defs, ...head }));
    expect(written).not.toContain('$ref');
    expect(written.split('properties').length).toBeLessThan(maxJsonDepth);
  });

  it.each([
    ['multiply', () => ({ $defs: definitions(40, (next) => ({ a: next, b: next })), ...head })],
    ['repeat a long text', () => ({ $defs: { d0: { title: 'x'.repeat(100_000) } }, ...heads(1000) })],
    ['repeat a long list', () => ({ $defs: { d0: { enum: times(15_000, String) } }, ...heads(1000) })],
    ['are part of what others refer to', () => ({ ...head, $defs: { d0: nested(100) } })],
  ])('have a bounded schema where references %s', (_, make) => {
    const written = JSON.stringify(spec(make()));
    expect(written).not.toContain('$ref');
    expect(written.length).toBeLessThan(400_000);
  });

  it('take time for what references refer to only as far as it is copied', () => {
    const steep = steepGrowth((count) => {
      const parameters = { $defs: { d0: { a: { $ref: `#${'/a'.repeat(count)}` } } }, ...heads(count) };
      return () => void asNovaTool({ schema: parameters, description: '' });
    });
    expect(steep).toBeUndefined();
  });
});
