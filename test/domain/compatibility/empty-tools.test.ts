import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import {
  emptyTools,
  emptyToolsRules,
  inputHasToolHistory,
  messagesHaveToolHistory,
} from '../../../domain/compatibility/empty-tools.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { aJson } from '../../support/arbitraries/json-text.ts';

const never = (): boolean => false;
const always = (): boolean => true;
const kept = E.right([]);
const named: Json = { type: 'function', function: { name: 'f' } };

describe.each([
  ['omit', always],
  ['omit', never],
  ['preserve_with_tool_history', never],
] as const)('empty_tools: %s removes an explicit empty tools array', (rule, history) => {
  it('removes only the array if there is no tool_choice', () => {
    expect(emptyTools(rule, { tools: [] }, history)).toEqual(E.right(['tools']));
  });

  it.each([['auto'], ['none'], [null]])('removes neutral tool_choice %p with it', (choice) => {
    expect(emptyTools(rule, { tools: [], tool_choice: choice }, history)).toEqual(
      E.right(['tools', 'tool_choice']),
    );
  });

  it('removes parallel_tool_calls with it, for any value', () => {
    for (const parallel_tool_calls of [true, false, null])
      for (const choice of [{}, { tool_choice: 'auto' }])
        expect(emptyTools(rule, { tools: [], ...choice, parallel_tool_calls }, history)).toEqual(
          E.right(['tools', ...Object.keys(choice), 'parallel_tool_calls']),
        );
  });

  it.each<[Json]>([
    ['required'],
    ['any'],
    [''],
    [named],
    [{ type: 'custom', custom: { name: 'c' } }],
    [{ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }],
    [{ type: 'auto' }],
    [{}],
    [[]],
    [false],
  ])('rejects tool_choice %j and names the field', (choice) => {
    expect(emptyTools(rule, { tools: [], tool_choice: choice }, history)).toEqual(
      E.left(expect.objectContaining({ code: 'invalid_request', param: 'tool_choice' })),
    );
  });

  it.each<[JsonObject]>([
    [{}],
    [{ tools: null }],
    [{ tools: [named] }],
    [{ tools: {} }],
    [{ functions: [] }],
  ])('changes nothing without an empty tools array: %j', (body) => {
    for (const choice of ['auto', 'required', named])
      expect(emptyTools(rule, { ...body, tool_choice: choice }, history)).toEqual(kept);
  });
});

describe('empty_tools: preserve_with_tool_history', () => {
  it.each<[Json]>([['auto'], ['none'], [null], ['required'], [named]])(
    'preserves the empty array and tool_choice %j when function-tool history exists',
    (choice) => {
      const body = { tools: [], tool_choice: choice };
      expect(emptyTools('preserve_with_tool_history', body, always)).toEqual(kept);
    },
  );
});

describe('empty_tools for any body', () => {
  const aBody = fc.record(
    { tools: fc.oneof(fc.constant([]), aJson), tool_choice: aJson },
    { requiredKeys: [] },
  );

  it('preserve never changes tools', () => {
    fc.assert(
      fc.property(aBody, fc.boolean(), (body, history) => {
        expect(emptyTools('preserve', body, () => history)).toEqual(kept);
      }),
    );
  });

  it('has exactly one result: kept, removed with a neutral choice, or rejected', () => {
    const someChoice = fc.oneof(fc.constantFrom<Json>('auto', 'none', null, 'required', named), aJson);
    const someTools = fc.oneof(fc.constant<Json>([]), aJson);
    fc.assert(
      fc.property(
        fc.record(
          { tools: someTools, tool_choice: someChoice, parallel_tool_calls: fc.boolean() },
          { requiredKeys: [] },
        ),
        fc.constantFrom(...emptyToolsRules),
        fc.boolean(),
        (body, rule, history) => {
          const empty = JSON.stringify(body.tools) === '[]';
          const goes = empty && (rule === 'omit' || (rule === 'preserve_with_tool_history' && !history));
          const neutral = ['"auto"', '"none"', 'null', undefined].includes(JSON.stringify(body.tool_choice));
          const expected = {
            kept: !goes,
            removed: goes && neutral,
            rejected: goes && !neutral,
          };
          const dropped = emptyTools(rule, body, () => history);
          expect({
            kept: E.isRight(dropped) && dropped.right.length === 0,
            removed:
              E.isRight(dropped) &&
              JSON.stringify(dropped.right) ===
                JSON.stringify([
                  'tools',
                  ...['tool_choice', 'parallel_tool_calls'].filter((field) => field in body),
                ]),
            rejected: E.isLeft(dropped) && dropped.left.param === 'tool_choice',
          }).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('function-tool history', () => {
  const call = { id: '1', type: 'function', function: { name: 'f', arguments: '{}' } };

  it.each<[string, boolean, Json | undefined]>([
    ['a call of the assistant', true, [{ role: 'user' }, { role: 'assistant', tool_calls: [call] }]],
    ['a legacy function call', true, [{ role: 'assistant', function_call: { name: 'f', arguments: '{}' } }]],
    ['a tool’s result', true, [{ role: 'tool', tool_call_id: '1', content: '1' }]],
    ['a function’s result', true, [{ role: 'function', name: 'f', content: '1' }]],
    [
      'text alone',
      false,
      [
        { role: 'user', content: 'tool' },
        { role: 'assistant', content: 'tool_calls' },
      ],
    ],
    ['an empty list of calls', false, [{ role: 'assistant', tool_calls: [] }]],
    ['no calls at all', false, [{ role: 'assistant', tool_calls: null, function_call: null }]],
    ['calls that are not the assistant’s', false, [{ role: 'user', tool_calls: [call] }]],
    ['no messages', false, []],
    ['a string', false, 'tool'],
    ['nothing', false, undefined],
  ])('of chat messages: %s is %p', (_, expected, messages) => {
    expect(messagesHaveToolHistory(messages)).toBe(expected);
  });

  it.each<[string, boolean, Json | undefined]>([
    ['a call', true, [{ type: 'function_call', call_id: '1', name: 'f', arguments: '{}' }]],
    [
      'a result',
      true,
      [
        { role: 'user', content: 'x' },
        { type: 'function_call_output', call_id: '1', output: '' },
      ],
    ],
    ['messages', false, [{ type: 'message', role: 'user', content: 'function_call' }, { role: 'tool' }]],
    ['calls of hosted tools', false, [{ type: 'web_search_call', id: 'ws_1' }]],
    ['text', false, 'function_call'],
    ['nothing', false, undefined],
  ])('of a responses input: %s is %p', (_, expected, input) => {
    expect(inputHasToolHistory(input)).toBe(expected);
  });
});
