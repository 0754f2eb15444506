import { describe, expect, it } from '@jest/globals';
import { permissive } from '../../domain/routing/capabilities.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import {
  type BodyRules,
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { minimal, refusal, sent, styles } from './messages-body-sending.ts';
import { sent as sentUnified } from './unified-sending.ts';

describe('tools', () => {
  const tool = (parameters?: JsonObject | null): JsonObject => ({
    type: 'function',
    function: {
      name: 'weather',
      description: 'Tells it.',
      strict: false,
      ...(parameters === undefined ? {} : { parameters }),
    },
  });

  it.each<[string, JsonObject | null | undefined, JsonObject]>([
    [
      'a schema',
      { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    ],
    ['`properties: null`', { type: 'object', properties: null }, { type: 'object', properties: {} }],
    ['an empty schema', {}, { type: 'object', properties: {} }],
    ['no parameters', undefined, { type: 'object', properties: {} }],
    ['null', null, { type: 'object', properties: {} }],
  ])('function tools become custom tools with `input_schema`: %s', (_, parameters, input_schema) => {
    expect(sent({ ...minimal, tools: [tool(parameters)] })['tools']).toEqual([
      { type: 'custom', name: 'weather', description: 'Tells it.', input_schema, strict: false },
    ]);
  });

  it.each(['oneOf', 'anyOf', 'allOf'])('have the `%s` of their arguments in the description', (keyword) => {
    const properties = { a: { type: 'string', [keyword]: [{ minLength: 1 }] } };
    const parameters = { type: 'object', properties, [keyword]: [{ required: ['a'] }] };
    const schema = { type: 'object', properties };
    const description = `Tells it.\n\n{${keyword}: [{"required":["a"]}]}`;
    const tools = [tool(parameters)];
    expect(sent({ ...minimal, tools })['tools']).toMatchObject([{ description, input_schema: schema }]);
    const toolSpec = { name: 'weather', description, strict: false, inputSchema: { json: schema } };
    const unified = (model: string) => sentUnified({ tools }, { model })['toolConfig'];
    expect(unified('us.anthropic.claude-sonnet-4-5-v1:0')).toEqual({ tools: [{ toolSpec }] });
    expect(unified('qwen.qwen3-32b-v1:0')).toMatchObject({
      tools: [{ toolSpec: { description: 'Tells it.', inputSchema: { json: parameters } } }],
    });
  });

  it('without a description have one that tells how their arguments are combined', () => {
    const own = { type: 'function', function: { name: 'f', parameters: { anyOf: [{}] } } };
    expect(sent({ ...minimal, tools: [own] })['tools']).toEqual([
      {
        type: 'custom',
        name: 'f',
        description: '{anyOf: [{}]}',
        input_schema: { type: 'object', properties: {} },
      },
    ]);
  });

  it.each<[string, BodyRules, string, boolean]>([
    ['platform A', rawPredictRules, 'anthropic/claude-opus-4-7', true],
    ['platform A', rawPredictRules, 'anthropic/claude-sonnet-4-5', true],
    ['platform A', rawPredictRules, 'anthropic/claude-sonnet-4@20250514', false],
    ['platform A', rawPredictRules, 'anthropic/claude-3-7-sonnet@20250219', false],
    ['invoke', invokeRules, 'us.anthropic.claude-sonnet-4-5', true],
    ['invoke', invokeRules, 'us.anthropic.claude-opus-4-7', false],
    ['endpointb_messages', endpointbRules, 'anthropic.claude-opus-4-7', false],
  ])('`strict` is sent if the model supports it: %s, %s', (_, rules, upstreamModel, supported) => {
    for (const strict of [true, false]) {
      const own = { type: 'function', function: { name: 'f', strict } };
      const [out] = sent({ ...minimal, tools: [own] }, rules, { upstreamModel })['tools'] as JsonObject[];
      expect(out!['strict']).toBe(supported ? strict : undefined);
    }
    const plain = { type: 'function', function: { name: 'f' } };
    const [out] = sent({ ...minimal, tools: [plain] }, rules, { upstreamModel })['tools'] as JsonObject[];
    expect(out).not.toHaveProperty('strict');
  });

  it('`strict` is not sent to platform A on a route without `json_schema`', () => {
    const capabilities = { ...permissive, json_schema: false };
    const tools = [{ type: 'function', function: { name: 'f', strict: true } }];
    expect(sent({ ...minimal, tools }, rawPredictRules, { capabilities })['tools']).toEqual([
      { type: 'custom', name: 'f', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  it('`strict` follows the `model_tier` of the route for an opaque model id', () => {
    const upstreamModel = 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x';
    const tools = [{ type: 'function', function: { name: 'f', strict: true } }];
    for (const [model_tier, strict] of [
      ['latest', undefined],
      ['previous', true],
    ] as const) {
      const compatibility = { cloud_b: { api_style: 'runtime_messages', model_tier } };
      const body = sent({ ...minimal, tools }, invokeRules, { upstreamModel, compatibility });
      expect((body['tools'] as JsonObject[])[0]!['strict']).toBe(strict);
    }
  });

  it.each<[unknown, object | undefined]>([
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    ['none', { type: 'none' }],
    [
      { type: 'function', function: { name: 'weather' } },
      { type: 'tool', name: 'weather' },
    ],
    [null, undefined],
  ])('tool_choice %p is translated', (tool_choice, expected) => {
    for (const [, rules] of styles)
      expect(sent({ ...minimal, tools: [tool({})], tool_choice }, rules)['tool_choice']).toEqual(expected);
  });

  it.each<[unknown, unknown, object | undefined]>([
    [false, undefined, { type: 'auto', disable_parallel_tool_use: true }],
    [false, 'required', { type: 'any', disable_parallel_tool_use: true }],
    [false, 'none', { type: 'none' }],
    [true, undefined, undefined],
    [true, 'auto', { type: 'auto' }],
  ])(
    'platform A: parallel_tool_calls %p with tool_choice %p is translated',
    (parallel_tool_calls, tool_choice, expected) => {
      const body = { ...minimal, tools: [tool({})], parallel_tool_calls, tool_choice };
      expect(sent(body)['tool_choice']).toEqual(expected);
    },
  );

  it('without tools, tool_choice is omitted, and one that requires a tool is rejected', () => {
    for (const tool_choice of ['auto', 'none'])
      expect(sent({ ...minimal, tools: [], tool_choice, functions: [] })).toEqual(sent(minimal));
    expect(refusal({ ...minimal, tool_choice: 'required' })).toMatchObject({ param: 'tool_choice' });
  });

  it.each<[string, object]>([
    ['functions', { functions: [{ name: 'f' }] }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: {} }] }],
    [
      'tools[0].function.parameters',
      { tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] },
    ],
    ['tool_choice', { tools: [tool({})], tool_choice: 'any' }],
    ['tool_choice', { tools: [tool({})], tool_choice: 7 }],
    ['tool_choice.type', { tools: [tool({})], tool_choice: { type: 'allowed_tools' } }],
    ['tool_choice.function.name', { tools: [tool({})], tool_choice: { type: 'function', function: {} } }],
    ['parallel_tool_calls', { tools: [tool({})], parallel_tool_calls: 'no' }],
  ])('%s is named in the error', (param, over) => {
    expect(refusal({ ...minimal, ...over })).toMatchObject({ code: 'invalid_request', param });
  });

  it('a name of more than 64 characters is sent unchanged, for the upstream to check', () => {
    const name = `mcp__${'server_'.repeat(12)}__tool`;
    const named = { type: 'function', function: { name } };
    expect(sent({ ...minimal, tools: [named] })['tools']).toMatchObject([{ name }]);
  });
});
