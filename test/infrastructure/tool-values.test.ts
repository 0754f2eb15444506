import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../domain/shared/json.ts';
import * as generateContent from './generate-content-sending.ts';
import { translatedBodies } from './refused-fields.ts';

const f = (more: JsonObject = {}): JsonObject => ({ type: 'function', function: { name: 'f', ...more } });

describe.each(translatedBodies)('a tool of a chat body, for a body of %s,', (_name, refusedFor) => {
  it.each<[string, string, JsonObject]>([
    ['parameters', 'are text', { parameters: '{}' }],
    ['parameters', 'are a list', { parameters: [] }],
    ['parameters.type', 'are no object', { parameters: { type: 'string' } }],
    ['description', 'is a number', { description: 5 }],
    ['strict', 'is text', { strict: 'true' }],
    ['name', 'is empty', { name: '' }],
    ['name', 'is a number', { name: 5 }],
    ['name', 'has a blank', { name: 'get weather' }],
    ['name', 'has a letter of another alphabet', { name: 'größe' }],
    ['name', 'is too long', { name: 'f'.repeat(129) }],
  ])('is rejected by name if its %s %s', (field, _, members) => {
    expect(refusedFor({ tools: [f(), f({ name: 'g', ...members })] })).toBe(`tools[1].function.${field}`);
  });

  it('is rejected if it has the name of another one', () => {
    expect(refusedFor({ tools: [f(), f()] })).toBe('tools[1].function.name');
  });

  it('must be there if it is to be called', () => {
    const tool_choice = { type: 'function', function: { name: 'g' } };
    expect(refusedFor({ tools: [f()], tool_choice })).toBe('tool_choice.function.name');
    expect(refusedFor({ tool_choice })).toBe('tool_choice');
    expect(refusedFor({ tool_choice: 'required' })).toBe('tool_choice');
  });
});

it('a name that begins with a digit is rejected for generate-content alone, and one with a dot for the others', () => {
  for (const [body, refusedFor] of translatedBodies) {
    const isOfA = body === 'generate-content';
    const name = isOfA ? '3d' : 'a.b';
    expect(refusedFor({ tools: [f({ name })] })).toBe('tools[0].function.name');
  }
  const accepted = { tools: [f({ name: 'a.b:c-d_1' })] };
  expect(generateContent.sent(accepted)['tools']).toEqual([
    { functionDeclarations: [{ name: 'a.b:c-d_1' }] },
  ]);
});
