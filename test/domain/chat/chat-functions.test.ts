import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { offeredFunction } from '../../../domain/chat/chat-functions.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

describe('the function of a tool', () => {
  const weather = { name: 'weather', parameters: { type: 'object' } };

  it.each<[string, JsonObject]>([
    ['that is typed', { type: 'function', function: weather }],
    ['that is not', { function: weather }],
    ['whose type is null', { type: null, function: weather }],
  ])('is read of one %s', (_, tool) => {
    expect(offeredFunction(tool, 'tools[0]')).toEqual(
      E.right({ name: 'weather', members: weather, parameters: weather.parameters }),
    );
  });

  it.each<[string, JsonObject]>([
    ['tools[0].type', { type: 'web_search' }],
    ['tools[0].type', { type: 'custom', function: weather }],
    ['tools[0].type', { web_search: {} }],
    ['tools[0].type', { function: 'weather' }],
    ['tools[0].function', { type: 'function' }],
    ['tools[0].function.name', { function: {} }],
    ['tools[0].function.parameters', { function: { name: 'f', parameters: '{}' } }],
  ])('%s is named where there is none: %j', (param, tool) => {
    expect(offeredFunction(tool, 'tools[0]')).toMatchObject(E.left({ param }));
  });
});
