import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const text = { type: 'string' };
const closed = (properties: JsonObject, required = Object.keys(properties), more: JsonObject = {}) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
  ...more,
});
const optional = closed({ a: text, b: text }, ['a']);
const open = { type: 'object', properties: { a: text }, required: ['a'] };

/** The answer format of the chat body for a messages call with this schema. */
function formatFor(schema: JsonObject, reader: 'upstream' | 'provider'): unknown {
  const value = {
    messages: [{ role: 'user', content: 'a' }],
    max_tokens: 1,
    output_config: { format: { type: 'json_schema', schema } },
  };
  const body = toChatBody({ document: { value }, model: 'm', stream: false }, reader);
  return E.isRight(body) ? body.right['response_format'] : body.left;
}

const asked = (strict: boolean, schema: JsonObject) => ({
  type: 'json_schema',
  json_schema: { name: 'answer', strict, schema },
});

describe('the schema of a messages call', () => {
  it.each<[string, JsonObject]>([
    ['of an object that requires all of its properties', closed({ a: text })],
    ['of an object without properties', closed({})],
    ['of a text', text],
    ['whose objects all do', closed({ a: closed({ b: text }), c: { type: 'array', items: closed({}) } })],
    ['with a property named as a keyword', closed({ properties: text, items: text, allOf: text })],
    ['with a format that both APIs know', closed({ a: { ...text, format: 'uuid' } })],
  ])('%s is strict in chat', (_, schema) => {
    expect(formatFor(schema, 'upstream')).toEqual(asked(true, schema));
  });

  it.each<[string, JsonObject]>([
    ['an optional property', optional],
    ['an optional property, and no type', { ...optional, type: null }],
    ['nothing required', { ...closed({ a: text }), required: null }],
    ['an object that may have other properties', open],
    ['an object of any properties', { type: 'object' }],
    ['an object of any properties, or null', { type: ['object', 'null'] }],
    ['a format that only the messages API knows', closed({ a: { ...text, format: 'uri' } })],
    ['a combination of schemas', closed({ a: { allOf: [text] } })],
    ['one of these in a property', closed({ a: optional })],
    ['one of these in an item', closed({ a: { type: 'array', items: open } })],
    ['one of these in one item', closed({ a: { type: 'array', prefixItems: [text, open] } })],
    ['one of these in an alternative', closed({ a: { anyOf: [{ type: 'null' }, optional] } })],
    ['one of these in an exclusive alternative', closed({ a: { oneOf: [{ type: 'null' }, optional] } })],
    ['one of these in a definition', closed({ a: { $ref: '#/$defs/A' } }, ['a'], { $defs: { A: open } })],
    [
      'one of these in a definition of an older draft',
      closed({ a: { $ref: '#/definitions/A' } }, ['a'], { definitions: { A: open } }),
    ],
  ])('with %s is not strict in chat, which rejects it, but is on providers that take it', (_, schema) => {
    expect(formatFor(schema, 'upstream')).toEqual(asked(false, schema));
    expect(formatFor(schema, 'provider')).toEqual(asked(true, schema));
  });
});
