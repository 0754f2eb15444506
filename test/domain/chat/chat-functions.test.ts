import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chosenTool, offeredFunction } from '../../../domain/chat/chat-functions.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';

describe('the function of a tool', () => {
  const weather = { name: 'weather', parameters: { type: 'object' } };

  it.each<[string, JsonObject]>([
    ['with a type', { type: 'function', function: weather }],
    ['without a type', { function: weather }],
    ['whose type is null', { type: null, function: weather }],
  ])('is parsed from a tool %s', (_, tool) => {
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
  ])('%s is named in the error if the tool is not a function: %j', (param, tool) => {
    expect(offeredFunction(tool, 'tools[0]')).toMatchObject(E.left({ param }));
  });
});

describe('the parsed tool_choice', () => {
  it.each<[Json | undefined, Json | undefined]>([
    [undefined, undefined],
    [null, undefined],
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
  ])('for %j is %j', (choice, chosen) => {
    expect(chosenTool(choice)).toEqual(E.right(chosen));
  });

  it.each<[string, JsonObject]>([
    ['with a type', { type: 'function', function: { name: 'weather' } }],
    ['without a type', { function: { name: 'weather' } }],
    ['whose type is null', { type: null, function: { name: 'weather' } }],
  ])('is the named function for an object %s', (_, choice) => {
    expect(chosenTool(choice)).toEqual(E.right({ name: 'weather', members: { name: 'weather' } }));
  });

  it.each<[string, Json]>([
    ['tool_choice', 'any'],
    ['tool_choice', true],
    ['tool_choice', [{ type: 'function', function: { name: 'weather' } }]],
    ['tool_choice.type', { type: 'allowed_tools', function: { name: 'weather' } }],
    ['tool_choice.function', {}],
    ['tool_choice.function.name', { type: 'function', function: {} }],
  ])('%s is named in the error if the value is unsupported: %j', (param, choice) => {
    expect(chosenTool(choice)).toMatchObject(E.left({ param }));
  });
});
