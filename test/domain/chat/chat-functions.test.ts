import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chosenTool, offeredFunctions } from '../../../domain/chat/chat-functions.ts';
import { isArray, type Json, type JsonObject } from '../../../domain/shared/json.ts';

describe('the function of a tool', () => {
  const weather = { name: 'weather', parameters: { type: 'object' } };
  const offered = (...tools: readonly JsonObject[]) => offeredFunctions({ tools }, () => undefined);

  it.each<[string, JsonObject]>([
    ['with a type', { type: 'function', function: weather }],
    ['without a type', { function: weather }],
    ['whose type is null', { type: null, function: weather }],
  ])('is parsed from a tool %s', (_, tool) => {
    expect(offered(tool)).toEqual(
      E.right([{ name: 'weather', members: weather, parameters: weather.parameters, tool }]),
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
    expect(offered(tool)).toMatchObject(E.left({ param }));
  });

  it.each<[string, Json]>([
    ['no schema', []],
    ['a schema of another type', { type: 'string' }],
    ['a schema with a type that is none', { type: 5 }],
  ])('is rejected if its arguments have %s', (_, parameters) => {
    const param = `tools[0].function.parameters${isArray(parameters) ? '' : '.type'}`;
    expect(offered({ function: { name: 'f', parameters } })).toMatchObject(E.left({ param }));
  });

  it.each<[string, Json]>([
    ['none', null],
    ['an empty one', {}],
    ['one without a type', { properties: {} }],
    ['one of several types', { type: ['object', 'null'] }],
    ['one in the spelling of another API', { type: 'OBJECT' }],
  ])('may have as the schema of its arguments %s', (_, parameters) => {
    expect(offered({ function: { name: 'f', parameters } })).toMatchObject(
      E.right([{ parameters: parameters ?? undefined }]),
    );
  });

  it('is rejected if its name is that of another one, or the upstream does not take it', () => {
    const f: JsonObject = { function: { name: 'f' } };
    const param = 'tools[2].function.name';
    expect(offered(f, { function: { name: 'g' } }, f)).toMatchObject(E.left({ param }));
    expect(offeredFunctions({ tools: [f] }, (name) => `is ${name}.`)).toMatchObject(
      E.left({ message: '`tools[0].function.name` is f.' }),
    );
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
    expect(chosenTool(choice, [{ name: 'weather' }])).toEqual(E.right(chosen));
  });

  it.each<[string, JsonObject]>([
    ['with a type', { type: 'function', function: { name: 'weather' } }],
    ['without a type', { function: { name: 'weather' } }],
    ['whose type is null', { type: null, function: { name: 'weather' } }],
  ])('is the named function for an object %s', (_, choice) => {
    expect(chosenTool(choice, [{ name: 'time' }, { name: 'weather' }])).toEqual(
      E.right({ name: 'weather', members: { name: 'weather' } }),
    );
  });

  it.each<[string, Json]>([
    ['tool_choice', 'any'],
    ['tool_choice', true],
    ['tool_choice', [{ type: 'function', function: { name: 'weather' } }]],
    ['tool_choice.type', { type: 'allowed_tools', function: { name: 'weather' } }],
    ['tool_choice.function', {}],
    ['tool_choice.function.name', { type: 'function', function: {} }],
  ])('%s is named in the error if the value is unsupported: %j', (param, choice) => {
    expect(chosenTool(choice, [{ name: 'weather' }])).toMatchObject(E.left({ param }));
  });

  it('is rejected if no tool has the function, or there are no tools', () => {
    const choice = { type: 'function', function: { name: 'weather' } };
    expect(chosenTool(choice, [{ name: 'time' }])).toMatchObject(
      E.left({ param: 'tool_choice.function.name' }),
    );
    for (const each of [choice, 'required'])
      expect(chosenTool(each, [])).toMatchObject(E.left({ param: 'tool_choice' }));
    for (const each of ['auto', 'none']) expect(chosenTool(each, [])).toEqual(E.right(each));
  });
});
