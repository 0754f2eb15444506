import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import {
  mayDeclareImageGeneration,
  withoutImageGeneration,
} from '../../../domain/responses/hosted-image-generation.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const hosted = { type: 'image_generation', quality: 'low' };
const lookup = { type: 'function', name: 'lookup' };

describe('a hosted image-generation tool that is only offered is removed', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['beside a function', { tools: [hosted, lookup] }, { tools: [lookup] }],
    [
      'with a free choice',
      { tools: [lookup, hosted], tool_choice: 'auto' },
      { tools: [lookup], tool_choice: 'auto' },
    ],
    [
      'with a choice that other tools can satisfy',
      { tools: [lookup, hosted], tool_choice: 'required' },
      { tools: [lookup], tool_choice: 'required' },
    ],
    [
      'with a named function',
      { tools: [lookup, hosted], tool_choice: { type: 'function', name: 'lookup' } },
      { tools: [lookup], tool_choice: { type: 'function', name: 'lookup' } },
    ],
    [
      'among allowed tools',
      {
        tools: [lookup, hosted],
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [hosted, lookup] },
      },
      { tools: [lookup], tool_choice: { type: 'allowed_tools', mode: 'required', tools: [lookup] } },
    ],
    [
      'as the only allowed tool, in the mode auto',
      { tools: [lookup, hosted], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [hosted] } },
      { tools: [lookup], tool_choice: 'none' },
    ],
    ...[
      { type: 'allowed_tools', mode: 'required' },
      { type: 'allowed_tools', mode: 'auto', tools: [] },
      { type: 'a_new_one', tools: [hosted] },
    ].map((tool_choice): [string, JsonObject, JsonObject] => [
      `with a choice that does not name it: ${JSON.stringify(tool_choice)}`,
      { tools: [lookup, hosted], tool_choice },
      { tools: [lookup], tool_choice },
    ]),
    ['alone', { input: 'x', tools: [hosted] }, { input: 'x' }],
    ['alone with a free choice', { tools: [hosted], tool_choice: 'auto' }, {}],
    ['alone with a null choice', { tools: [hosted], tool_choice: null }, {}],
    [
      'alone, as the only allowed tool',
      { tools: [hosted], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [hosted] } },
      {},
    ],
    [
      'alone with a choice of another tool',
      { tools: [hosted], tool_choice: lookup },
      { tool_choice: lookup },
    ],
  ])('%s', (_, body, left) => {
    expect(withoutImageGeneration(body)).toEqual(E.right(left));
  });
});

describe('a request that explicitly requires image generation is rejected locally with 400', () => {
  it.each<[string, JsonObject]>([
    ['by name', { tools: [lookup, hosted], tool_choice: { type: 'image_generation' } }],
    ['as the only tool, with the choice required', { tools: [hosted], tool_choice: 'required' }],
    [
      'as the only allowed tool',
      { tools: [lookup, hosted], tool_choice: { type: 'allowed_tools', mode: 'required', tools: [hosted] } },
    ],
  ])('%s', (_, body) => {
    expect(withoutImageGeneration(body)).toMatchObject(
      E.left({
        code: 'invalid_request',
        param: 'tool_choice',
        message: expect.stringContaining('image generation'),
      }),
    );
  });
});

it('a body that declares no image generation is returned as the same object', () => {
  for (const tools of [{}, { tools: [] }, { tools: [lookup] }])
    for (const choice of [{}, { tool_choice: 'required' }, { tool_choice: null }]) {
      const body = { ...tools, ...choice };
      const result = withoutImageGeneration(body);
      expect(E.isRight(result) && result.right).toBe(body);
    }
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => {
      const declared = JSON.stringify(body).includes('image_generation');
      const result = withoutImageGeneration(body);
      return declared || (E.isRight(result) && result.right === body);
    }),
  );
});

it('a declaration of image generation is detected, also with escapes', () => {
  expect(mayDeclareImageGeneration('{"tools":[{"type":"image_generation"}]}')).toBe(true);
  expect(mayDeclareImageGeneration('{"tools":[{"type":"image\\u005fgeneration"}]}')).toBe(true);
  expect(mayDeclareImageGeneration('{"tools":[]}')).toBe(false);
});
