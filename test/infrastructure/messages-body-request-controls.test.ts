import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import {
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { minimal, outbound, refusal, sent, styles, user } from './messages-body-sending.ts';

describe('limits, sampling and stops', () => {
  it.each<[string, object, unknown]>([
    ['max_tokens', { max_tokens: 5 }, 5],
    ['max_completion_tokens', { max_tokens: undefined, max_completion_tokens: 6 }, 6],
    ['both with the same value', { max_tokens: 7, max_completion_tokens: 7 }, 7],
  ])('the limit is sent as `max_tokens`: %s', (_, over, expected) => {
    for (const [, rules] of styles) expect(sent({ ...minimal, ...over }, rules)['max_tokens']).toBe(expected);
  });

  it.each<[string, object]>([
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: '5' }],
    ['max_completion_tokens', { max_tokens: undefined, max_completion_tokens: 1.5 }],
    ['max_tokens', { max_tokens: 5, max_completion_tokens: 6 }],
    ['stop', { stop: 7 }],
    ['stop', { stop: ['a', null] }],
    ['stop_sequences', { stop_sequences: 'a' }],
    ['stop_sequences', { stop_sequences: ['a'], stop: 'b' }],
    ['anthropic_beta', { anthropic_beta: 'x' }],
  ])('%s is named in the error: %p', (param, over) => {
    expect(refusal({ ...minimal, ...over })).toMatchObject({ code: 'invalid_request', param });
  });

  it('the error for invalid stops describes the field that the caller sent', () => {
    expect(refusal({ ...minimal, stop: 7 })?.message).toContain('must be a string or an array of strings.');
    expect(refusal({ ...minimal, stop_sequences: 7 })?.message).toContain('must be an array of strings.');
  });

  it('sampling passes; `stop` becomes `stop_sequences`', () => {
    const body = { ...minimal, temperature: 0.5, top_p: 0.9, top_k: 40, stop: 'END' };
    expect(sent(body)).toMatchObject({ temperature: 0.5, top_p: 0.9, top_k: 40, stop_sequences: ['END'] });
    expect(sent({ ...minimal, stop: ['a', 'b'] })['stop_sequences']).toEqual(['a', 'b']);
    expect(sent({ ...minimal, stop: [], temperature: null })).toEqual(sent(minimal));
  });

  it('the caller’s own `stop_sequences` and `top_k` are sent, also beside an equal `stop`', () => {
    for (const [, rules] of styles)
      for (const stop of [{}, { stop: null }, { stop: 'a' }])
        expect(sent({ ...minimal, ...stop, stop_sequences: ['a'], top_k: 40 }, rules)).toMatchObject({
          stop_sequences: ['a'],
          top_k: 40,
        });
  });

  it.each<[string, object]>([
    ['claude-fable-5-1', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['claude-opus-5-5', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['claude-sonnet-5-5', { thinking: { type: 'between_tools' } }],
  ])('an effort of none works on models that cannot be told not to think: %s', (upstreamModel, expected) => {
    for (const [, rules] of styles)
      expect(sent({ ...minimal, reasoning_effort: 'none' }, rules, { upstreamModel })).toEqual({
        ...sent(minimal, rules, { upstreamModel }),
        ...expected,
      });
  });

  it('latest generation: defaults are omitted, other values rejected', () => {
    const latest = { upstreamModel: 'anthropic/claude-opus-4-7' };
    expect(sent({ ...minimal, temperature: 1, top_p: 1 }, rawPredictRules, latest)).toEqual(sent(minimal));
    expect(refusal({ ...minimal, temperature: 0 }, rawPredictRules, latest)).toMatchObject({
      param: 'temperature',
    });
  });
});

describe('controls that only chat has', () => {
  it.each<[string, unknown]>([
    ['presence_penalty', 0],
    ['frequency_penalty', 0.5],
    ['n', 1],
    ['seed', 7],
    ['parallel_tool_calls', true],
    ['response_format', { type: 'text' }],
  ])('invoke: `%s` is rejected', (field, value) => {
    expect(refusal({ ...minimal, [field]: value }, invokeRules)).toMatchObject({
      code: 'invalid_request',
      param: field,
      message: `\`${field}\` is not available on this model's route.`,
    });
    expect(sent({ ...minimal, [field]: null }, invokeRules)).toEqual(sent(minimal, invokeRules));
  });

  it.each<[string, unknown]>([
    ['n', 2],
    ['presence_penalty', 1],
    ['frequency_penalty', -1],
    ['seed', 7],
    ['logprobs', true],
    ['top_logprobs', 2],
    ['logit_bias', { '1': 5 }],
    ['modalities', ['text', 'audio']],
    ['audio', { voice: 'x' }],
    ['web_search_options', {}],
    ['response_format', { type: 'json_object' }],
  ])('a control that changes the answer and cannot be translated is rejected: `%s`', (field, value) => {
    for (const [, rules] of styles)
      expect(refusal({ ...minimal, [field]: value }, rules)).toMatchObject({ param: field });
  });

  it('`json_object` is refused with the reason', () => {
    for (const [, rules] of styles)
      expect(refusal({ ...minimal, response_format: { type: 'json_object' } }, rules)?.message).toMatch(
        /^`response_format` cannot be `json_object` on this model's route, whose API has no such mode: /,
      );
  });

  it('controls with default values, and those that change no answer, are dropped', () => {
    const silent = {
      n: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      logprobs: false,
      top_logprobs: 0,
      logit_bias: {},
      modalities: ['text'],
      response_format: { type: 'text' },
      user: 'u',
      store: true,
      metadata: { a: 'b' },
      service_tier: 'auto',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      stream_options: { include_usage: true },
      verbosity: 'medium',
      some_new_field: { x: 1 },
    };
    expect(sent({ ...minimal, ...silent })).toEqual(sent(minimal));
    expect(sent({ ...minimal, ...silent }, endpointbRules)).toEqual(sent(minimal, endpointbRules));
  });

  it('platform A: a JSON schema becomes `output_config.format`, and is refused beside another one or on endpointb', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    const response_format = { type: 'json_schema', json_schema: { name: 'a', strict: true, schema } };
    expect(sent({ ...minimal, response_format, output_config: { effort: 'low' } })['output_config']).toEqual({
      effort: 'low',
      format: { type: 'json_schema', schema },
    });
    expect(refusal({ ...minimal, response_format }, endpointbRules)).toMatchObject({
      param: 'response_format',
    });
    expect(
      refusal({ ...minimal, response_format, output_config: { format: { type: 'json_schema', schema } } }),
    ).toMatchObject({ param: 'response_format' });
  });

  it.each<[string, unknown]>([
    ['description', 5],
    ['strict', 'true'],
  ])('platform A: `%s` of a JSON schema is rejected by name if it is %j', (field, value) => {
    const json_schema = { schema: { type: 'object' }, [field]: value };
    expect(refusal({ ...minimal, response_format: { type: 'json_schema', json_schema } })).toMatchObject({
      param: `response_format.json_schema.${field}`,
    });
  });

  it('invoke: native members are copied through', () => {
    const native = {
      anthropic_beta: ['computer-use-2025-01-24'],
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      container: 'c1',
      metadata: { user_id: 'u' },
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'low', format: { type: 'x' } },
    };
    expect(sent({ ...minimal, ...native }, invokeRules)).toMatchObject(native);
  });
});

describe('reasoning fields', () => {
  it('`thinking` and `output_config` are copied first, then the normalised fields applied', () => {
    const body = {
      ...minimal,
      reasoning: { effort: 'xhigh', exclude: true },
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { format: { type: 'x' } },
    };
    expect(sent(body, invokeRules)).toEqual({
      ...sent(minimal, invokeRules),
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { format: { type: 'x' }, effort: 'xhigh' },
    });
  });

  it.each(['reasoning_budget_tokens', 'thinking_budget_tokens'])(
    '%s becomes manual thinking with the same digits',
    (field) => {
      const text = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"${field}":2048.0}`;
      const result = outbound(text, rawPredictRules);
      expect(E.isRight(result) && result.right.text).toContain(
        '"thinking":{"type":"enabled","budget_tokens":2048.0}',
      );
      expect(E.isRight(result) && result.right.text).not.toContain(field);
    },
  );

  it('platform B adds the beta flag to an effort for the previous generation', () => {
    const body = { ...minimal, reasoning_effort: 'low', reasoning_budget_tokens: 2048 };
    const upstreamModel = 'us.anthropic.claude-opus-4-5-20251101-v1:0';
    const expected = {
      thinking: { type: 'enabled', budget_tokens: 2048 },
      output_config: { effort: 'low' },
    };
    expect(sent(body, invokeRules, { upstreamModel })).toMatchObject({
      ...expected,
      anthropic_beta: ['effort-2025-11-24'],
    });
    const elsewhere = outbound(body, endpointbRules, { upstreamModel });
    expect(elsewhere).toMatchObject({ right: { betas: ['effort-2025-11-24'] } });
    expect(sent(body, rawPredictRules, { upstreamModel })).toEqual({ ...sent(minimal), ...expected });
  });

  it('manual thinking in a tool loop is omitted and noted, because preserved thinking is not replayed', () => {
    const body = {
      ...minimal,
      reasoning_budget_tokens: 2048,
      reasoning_effort: 'low',
      messages: [
        user,
        { role: 'assistant', tool_calls: [{ id: '1', type: 'function', function: { name: 'f' } }] },
        { role: 'tool', tool_call_id: '1', content: 'a' },
      ],
    };
    const about = { upstreamModel: 'us.anthropic.claude-opus-4-5-20251101-v1:0' };
    for (const [, rules] of styles) {
      const out = sent(body, rules, about);
      expect(out).not.toHaveProperty('thinking');
      expect(out).toMatchObject({ output_config: { effort: 'low' } });
      expect(outbound(body, rules, about)).toMatchObject({ right: { notes: { reasoning: {} } } });
    }
    expect(outbound({ ...body, messages: [user] }, invokeRules, about)).not.toHaveProperty('right.notes');
  });

  it('route extra_body is the final override', () => {
    const extraBody = { thinking: { type: 'disabled' }, max_tokens: 7, anthropic_version: 'x', system: 'S' };
    expect(sent({ ...minimal, reasoning_effort: 'low' }, invokeRules, { extraBody })).toMatchObject(
      extraBody,
    );
  });
});

describe('caller betas', () => {
  it('are sent in the body of invoke and raw-predict, if the upstream knows them', () => {
    const betas = ['context-1m-2025-08-07', 'claude-code-20250219', 'fast-mode-2026-02-01'];
    for (const rules of [rawPredictRules, invokeRules])
      expect(sent(minimal, rules, { betas })['anthropic_beta']).toEqual(['context-1m-2025-08-07']);
    expect(outbound(minimal, endpointbRules, { betas })).toMatchObject({
      right: { betas: ['context-1m-2025-08-07', 'claude-code-20250219'] },
    });
    expect(sent(minimal, endpointbRules, { betas })).toEqual(sent(minimal, endpointbRules));
  });

  it.each(['a\r\nx-own: b', 'a\u0000', 'a b', 'a,b', 'ä', '😀', ''])(
    'a value of the body that a header cannot contain is refused if it is sent in one: %j',
    (beta) => {
      const body = { ...minimal, anthropic_beta: ['own-2025-01-01', beta] };
      expect(refusal(body, endpointbRules)).toMatchObject({
        code: 'invalid_request',
        param: 'anthropic_beta',
      });
      expect(sent(body, invokeRules)['anthropic_beta']).toEqual(body.anthropic_beta);
    },
  );

  it('each value is sent once, and only if it is on the allow-list', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(rawPredictRules, invokeRules),
        fc.array(fc.oneof(fc.constantFrom(...invokeRules.betas.allowed.keys()), fc.string())),
        (rules, betas) => {
          const told = (sent(minimal, rules, { betas })['anthropic_beta'] ?? []) as readonly string[];
          expect(new Set(told).size).toBe(told.length);
          const known = new Set(rules.betas.allowed.values());
          expect(told.filter((beta) => !known.has(beta))).toEqual([]);
        },
      ),
    );
  });
});
