import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../domain/shared/json.ts';
import { parseExact } from '../../domain/shared/json.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';
import { newer, older, refused, sent } from './generate-content-sending.ts';

const config = (body: object, model = older) => sent(body, model)['generationConfig'];

describe('generation controls', () => {
  it('have the names of generationConfig', () => {
    expect(
      config({
        max_completion_tokens: 5,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        n: 2,
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: -0.1,
        stop: ['a', 'b'],
        logprobs: true,
        top_logprobs: 3,
      }),
    ).toEqual({
      maxOutputTokens: 5,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      candidateCount: 2,
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: -0.1,
      stopSequences: ['a', 'b'],
      responseLogprobs: true,
      logprobs: 3,
    });
  });

  it('keep every digit of their numbers', () => {
    const request = generateContentRequest(
      parseExact('{"messages":[{"role":"user","content":"Hi"}],"temperature":1.0,"seed":1e2}') as JsonObject,
      older,
    );
    expect(JSON.stringify(E.isRight(request) && request.right['generationConfig'])).toBe(
      '{"temperature":1.0,"seed":1e2}',
    );
  });

  it.each([
    [{ max_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ max_tokens: 5, max_completion_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ stop: 'a' }, { stopSequences: ['a'] }],
    [{ stop_sequences: ['a', 'b'] }, { stopSequences: ['a', 'b'] }],
    [{ stop: [] }, undefined],
    [{ stop: '', temperature: null, logprobs: false, top_logprobs: 3 }, undefined],
    [{ response_format: { type: 'text' } }, undefined],
    [{ response_format: { type: 'json_object' } }, { responseMimeType: 'application/json' }],
    [
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', schema: { type: 'object', required: null } },
        },
      },
      { responseMimeType: 'application/json', responseJsonSchema: { type: 'object' } },
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a' } } },
      { responseMimeType: 'application/json' },
    ],
  ])('translates %j', (body, expected) => {
    expect(config(body)).toEqual(expected);
  });

  it('drop fields that do not change the result, messages-only fields and unknown fields', () => {
    expect(
      sent({
        model: 'm',
        stream: true,
        user: 'u',
        store: true,
        metadata: { a: 'b' },
        prompt_cache_key: 'k',
        stream_options: { include_usage: true },
        service_tier: 'auto',
        safety_identifier: 's',
        parallel_tool_calls: true,
        modalities: ['text'],
        logit_bias: {},
        functions: [],
        function_call: 'auto',
        nobody_knows: 1,
        thinking: { type: 'enabled', budget_tokens: 5 },
        output_config: { effort: 'max' },
        anthropic_version: 'x',
      }),
    ).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] });
  });

  it.each([
    [{ logit_bias: { 7: -100 } }, 'logit_bias'],
    [{ functions: [{ name: 'f' }] }, 'functions'],
    [{ function_call: { name: 'f' } }, 'function_call'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ modalities: ['text', 'audio'] }, 'modalities[1]'],
    [{ max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens'],
    [{ stop: 'a', stop_sequences: ['b'] }, 'stop_sequences'],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [
      { response_format: { type: 'json_schema', json_schema: { schema: [] } } },
      'response_format.json_schema.schema',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { schema: {}, description: 5 } } },
      'response_format.json_schema.description',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { schema: {}, strict: 'true' } } },
      'response_format.json_schema.strict',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', description: 'A list.' } } },
      'response_format.json_schema.description',
    ],
  ])('rejects %j and names the field', (body, path) => {
    expect(refused(body)).toBe(path);
  });
});

describe('reasoning controls', () => {
  const thinking = (body: object, model = older) =>
    (config(body, model) as JsonObject | undefined)?.['thinkingConfig'];

  it.each([
    ['none', { thinkingBudget: 0 }, { thinkingLevel: 'LOW' }],
    [
      'minimal',
      { thinkingBudget: 1024, includeThoughts: true },
      { thinkingLevel: 'LOW', includeThoughts: true },
    ],
    ['low', { thinkingBudget: 1024, includeThoughts: true }, { thinkingLevel: 'LOW', includeThoughts: true }],
    [
      'medium',
      { thinkingBudget: 8192, includeThoughts: true },
      { thinkingLevel: 'MEDIUM', includeThoughts: true },
    ],
    [
      'high',
      { thinkingBudget: 24_576, includeThoughts: true },
      { thinkingLevel: 'HIGH', includeThoughts: true },
    ],
  ])('effort %s becomes a budget for older models and a level for newer ones', (effort, budget, level) => {
    expect(thinking({ reasoning_effort: effort }, older)).toEqual(budget);
    expect(thinking({ reasoning: { effort } }, newer)).toEqual(level);
  });

  it.each([
    ['gemini-3-flash-preview', 'MINIMAL'],
    ['gemini-3.1-flash-lite', 'MINIMAL'],
    ['gemini-3.6-flash', 'MINIMAL'],
    ['gemini-3.7-flash', 'LOW'],
    ['gemini-3.8-flash-001', 'LOW'],
    ['gemini-3.1-pro-preview', 'LOW'],
    ['gemini-4-hydrogen', 'LOW'],
    ['gemini-flash-latest', 'LOW'],
  ])('efforts minimal and none on %s become the lowest level of the model, %s', (model, thinkingLevel) => {
    expect(thinking({ reasoning_effort: 'minimal' }, model)).toEqual({
      thinkingLevel,
      includeThoughts: true,
    });
    expect(thinking({ reasoning_effort: 'none' }, model)).toEqual({ thinkingLevel });
  });

  it('effort none becomes a budget of 128 tokens on 2.5 Pro, its minimum', () => {
    expect(thinking({ reasoning_effort: 'none' }, 'gemini-2.5-pro')).toEqual({ thinkingBudget: 128 });
  });

  it.each(['xhigh', 'max'])('effort %s becomes the highest budget or level of the model', (effort) => {
    const highest = {
      'gemini-2.5-flash': 24_576,
      'gemini-2.5-pro': 32_768,
      'gemini-2.5-pro-preview': 32_768,
    };
    for (const [model, thinkingBudget] of Object.entries(highest))
      expect(thinking({ reasoning_effort: effort }, model)).toEqual({
        thinkingBudget,
        includeThoughts: true,
      });
    const highestLevel = {
      [newer]: 'HIGH',
      'gemini-4-argon': 'HIGH',
      'gemini-4-carbon': 'HIGH',
      'gemini-4-hydrogen': 'XHIGH',
      'gemini-4-hydrogen-001': 'XHIGH',
    };
    for (const [model, thinkingLevel] of Object.entries(highestLevel))
      expect(thinking({ reasoning: { effort } }, model)).toEqual({ thinkingLevel, includeThoughts: true });
  });

  it.each([
    ['gemini-2.5-pro', 'thinkingBudget'],
    ['gemini-live-2.5-flash', 'thinkingBudget'],
    ['gemini-2.0-flash-001', 'thinkingBudget'],
    ['gemini-3-flash-preview', 'thinkingLevel'],
    ['gemini-3.5-flash-lite', 'thinkingLevel'],
    ['gemini-10-pro', 'thinkingLevel'],
    ['gemini-flash-latest', 'thinkingLevel'],
    ['gemma-3-27b-it', 'thinkingBudget'],
  ])('an effort on %s becomes a %s', (model, field) => {
    expect(Object.keys(thinking({ reasoning_effort: 'low' }, model) as JsonObject)).toContain(field);
  });

  it.each([
    [{ reasoning: { budget_tokens: 99 } }, 99],
    [{ reasoning_budget_tokens: 1 }, 1],
    [{ thinking_budget_tokens: 99, reasoning_budget_tokens: 99 }, 99],
  ])('%j becomes a thinking budget', (body, thinkingBudget) => {
    expect(thinking(body, older)).toEqual({ thinkingBudget, includeThoughts: true });
    expect(thinking(body, newer)).toEqual({ thinkingBudget, includeThoughts: true });
  });

  it('no control sends no thinking config, and two controls with the same effort count as one', () => {
    expect(config({ reasoning: {}, reasoning_effort: null })).toBeUndefined();
    expect(thinking({ reasoning_effort: 'low', reasoning: { effort: 'low', summary: 'auto' } })).toEqual({
      thinkingBudget: 1024,
      includeThoughts: true,
    });
  });

  it.each([
    [{ reasoning_effort: 'low', reasoning: { effort: 'high' } }, 'reasoning_effort'],
    [{ reasoning: { budget_tokens: 1 }, reasoning_budget_tokens: 2 }, 'reasoning.budget_tokens'],
    [{ reasoning_budget_tokens: 1, thinking_budget_tokens: 2 }, 'reasoning_budget_tokens'],
    [{ reasoning_effort: 'low', thinking_budget_tokens: 1024 }, 'thinking_budget_tokens'],
    [{ reasoning_effort: 'ultra' }, 'reasoning_effort'],
    [{ reasoning: { effort: 'most' } }, 'reasoning.effort'],
    [{ reasoning_effort: 3 }, 'reasoning_effort'],
    [{ thinking_budget_tokens: 1.5 }, 'thinking_budget_tokens'],
    [{ thinking_budget_tokens: 0 }, 'thinking_budget_tokens'],
    [{ thinking_budget_tokens: 'many' }, 'thinking_budget_tokens'],
  ])('rejects %j and names the field', (body, path) => {
    expect(refused(body, older)).toBe(path);
    expect(refused(body, newer)).toBe(path);
  });
});
