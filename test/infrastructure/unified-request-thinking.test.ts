import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { requestedReasoning } from '../../domain/messages/effort.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { asked, call, rejected, sent, tool } from './unified-sending.ts';

describe('thinking controls', () => {
  const fields = (body: JsonObject, model: string): unknown =>
    sent(body, { model })['additionalModelRequestFields'];
  const latest = 'us.anthropic.claude-opus-4-7-v1:0';
  const previous = 'anthropic.claude-sonnet-4-6';
  const oneOlder = 'anthropic.claude-opus-4-5-20251101-v1:0';
  const older = 'anthropic.claude-sonnet-4-20250514-v1:0';

  it.each([
    ['effort', latest, { reasoning_effort: 'high' }, { thinking: { type: 'adaptive', effort: 'high' } }],
    ['effort', previous, { reasoning: { effort: 'low' } }, { thinking: { type: 'adaptive', effort: 'low' } }],
    ['no effort', previous, { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    [
      'no effort, of a model that always thinks',
      'us.anthropic.claude-opus-5-5-v1:0',
      { reasoning_effort: 'none' },
      { thinking: { type: 'adaptive', effort: 'low' } },
    ],
    [
      'no effort, of a model that has another word for it',
      'anthropic.claude-sonnet-5-5',
      { reasoning_effort: 'none' },
      { thinking: { type: 'between_tools' } },
    ],
    ['adaptive thinking', latest, { thinking: { type: 'adaptive' } }, { thinking: { type: 'adaptive' } }],
    [
      'adaptive thinking with a display, and an effort',
      latest,
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'max' } },
      { thinking: { type: 'adaptive', display: 'omitted', effort: 'max' } },
    ],
    [
      'adaptive thinking without the members that need a beta',
      latest,
      { thinking: { type: 'adaptive', display: 'updates', block_binding: {} } },
      { thinking: { type: 'adaptive' } },
    ],
    [
      'a budget',
      older,
      { reasoning_budget_tokens: 2000 },
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
    ],
    [
      'manual thinking',
      previous,
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
    ],
    [
      'manual thinking with a display',
      previous,
      { thinking: { type: 'enabled', budget_tokens: 2000, display: 'omitted' } },
      { thinking: { type: 'enabled', budget_tokens: 2000, display: 'omitted' } },
    ],
    [
      'effort and budget',
      oneOlder,
      { reasoning_effort: 'low', thinking_budget_tokens: 2000 },
      {
        thinking: { type: 'enabled', budget_tokens: 2000 },
        output_config: { effort: 'low' },
        anthropic_beta: ['effort-2025-11-24'],
      },
    ],
    [
      'an effort in output_config',
      latest,
      { output_config: { effort: 'low' } },
      { output_config: { effort: 'low' } },
    ],
    ['nothing', latest, {}, undefined],
  ])('are written as the model expects them: %s on %s', (_, model, body, expected) => {
    expect(fields(body as JsonObject, model)).toEqual(expected);
  });

  it.each([
    [
      'manual thinking',
      latest,
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      'thinking.budget_tokens',
    ],
    ['adaptive thinking', older, { thinking: { type: 'adaptive' } }, 'thinking.type'],
    ['effort without a budget', older, { reasoning_effort: 'high' }, 'reasoning_effort'],
    ['two efforts', latest, { reasoning_effort: 'high', reasoning: { effort: 'low' } }, 'reasoning_effort'],
  ])('are rejected where unsupported or conflicting: %s on %s', (_, model, body, param) => {
    expect(rejected(body as JsonObject, { model })).toBe(param);
  });

  describe('of messages callers', () => {
    const disabled = { type: 'disabled' };
    const manual = { type: 'enabled', budget_tokens: 2000 };
    const low = { effort: 'low' };
    const preview = 'anthropic.claude-mythos-preview';

    it.each([
      ['no thinking', latest, { thinking: disabled }, { thinking: disabled }],
      [
        'an effort without thinking',
        previous,
        { thinking: disabled, output_config: low },
        { thinking: disabled, output_config: low },
      ],
      ['an effort alone', previous, { output_config: low }, { output_config: low }],
      ['an effort alone', older, { output_config: low }, { output_config: low }],
      [
        'an effort alone',
        oneOlder,
        { output_config: low },
        { output_config: low, anthropic_beta: ['effort-2025-11-24'] },
      ],
      [
        'effort and budget',
        previous,
        { thinking: manual, output_config: low },
        { thinking: manual, output_config: low },
      ],
      [
        'adaptive thinking and an effort',
        latest,
        { thinking: { type: 'adaptive' }, output_config: low },
        { thinking: { type: 'adaptive', effort: 'low' } },
      ],
      ['an empty effort', latest, { output_config: { effort: '' } }, undefined],
    ])('are written as the model expects them: %s on %s', (_, model, body, expected) => {
      const request = sent(requestedReasoning(body), { model, translated: true });
      expect(request['additionalModelRequestFields']).toEqual(expected);
    });

    it('are rejected where they disable thinking on a model that always thinks', () => {
      const body = requestedReasoning({ thinking: disabled });
      expect(rejected(body, { model: preview, translated: true })).toBe('thinking.type');
    });
  });

  it('keep unrelated keys of the caller’s `additionalModelRequestFields`', () => {
    const own = {
      anthropic_beta: ['a'],
      custom: { x: 1 },
      thinking: { type: 'adaptive', display: 'omitted' },
    };
    expect(fields({ reasoning_effort: 'high', additionalModelRequestFields: own }, latest)).toEqual({
      ...own,
      thinking: { type: 'adaptive', display: 'omitted', effort: 'high' },
    });
    expect(
      fields(
        {
          output_config: { effort: 'low' },
          additional_model_request_fields: { anthropic_beta: ['a'], output_config: { x: 1 } },
        },
        oneOlder,
      ),
    ).toEqual({ anthropic_beta: ['a', 'effort-2025-11-24'], output_config: { x: 1, effort: 'low' } });
  });

  it('keep `thinking` in `additionalModelRequestFields` where nothing else controls thinking', () => {
    const own = { thinking: { type: 'enabled', budget_tokens: 5 } };
    expect(fields({ additionalModelRequestFields: own }, older)).toEqual(own);
  });

  it.each([
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, 'thinking'],
    [{ thinking: { type: 'adaptive', effort: 'low' } }, 'thinking'],
    [{ thinking: { display: 'omitted' } }, 'thinking'],
    [{ thinking: 'yes' }, 'thinking'],
  ])('reject a conflicting `thinking` in `additionalModelRequestFields`: %j', (own, name) => {
    expect(rejected({ reasoning_effort: 'high', additionalModelRequestFields: own }, { model: latest })).toBe(
      `additionalModelRequestFields.${name}`,
    );
    expect(
      rejected({ reasoning_effort: 'high', additional_model_request_fields: own }, { model: latest }),
    ).toBe(`additional_model_request_fields.${name}`);
  });

  it('reject `additionalModelRequestFields` with a conflicting `top_k`, in two spellings, or not an object', () => {
    const model = 'mistral.mistral-large-2402-v1:0';
    for (const top_k of [6, [5]])
      expect(rejected({ top_k: 5, additionalModelRequestFields: { top_k } }, { model })).toBe(
        'additionalModelRequestFields.top_k',
      );
    expect(sent({ top_k: 5, additionalModelRequestFields: { top_k: 5 } }, { model })).toMatchObject({
      additionalModelRequestFields: { top_k: 5 },
    });
    expect(rejected({ additionalModelRequestFields: {}, additional_model_request_fields: {} })).toBe(
      'additionalModelRequestFields',
    );
    expect(rejected({ additionalModelRequestFields: [] })).toBe('additionalModelRequestFields');
  });
});

describe('the field that an effort is written to', () => {
  const model = 'us.anthropic.claude-opus-4-7-v1:0';
  it.each([
    [undefined, { thinking: { type: 'adaptive', effort: 'high' } }],
    ['thinking', { thinking: { type: 'adaptive', effort: 'high' } }],
    ['output_config', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
  ])('follows `effort_placement: %s`', (effort_placement, expected) => {
    const cloudB = effort_placement === undefined ? {} : { effort_placement };
    expect(sent({ reasoning_effort: 'high' }, { model, cloudB })).toMatchObject({
      additionalModelRequestFields: expected,
    });
    const native = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
    expect(sent(native, { model, cloudB })['additionalModelRequestFields']).toEqual(expected);
  });

  it('`model_tier` sets what an opaque profile accepts', () => {
    const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6';
    expect(rejected({ reasoning_effort: 'low' }, { model: profile })).toBe('reasoning_effort');
    const latest = { model: profile, cloudB: { model_tier: 'latest' } };
    expect(sent({ reasoning_effort: 'low' }, latest)).toMatchObject({
      additionalModelRequestFields: { thinking: { type: 'adaptive', effort: 'low' } },
    });
    expect(rejected({ temperature: 0.5 }, latest)).toBe('temperature');
    expect(sent({ tools: [tool('f', { strict: true })] }, latest)['toolConfig']).toEqual({
      tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }],
    });
    expect(rejected({ reasoning_effort: 'low' }, { model: profile, cloudB: { model_tier: 'none' } })).toBe(
      'reasoning_effort',
    );
  });
});

describe('thinking in a tool loop', () => {
  const model = 'anthropic.claude-sonnet-4-20250514-v1:0';
  const asks: JsonObject = { thinking: { type: 'enabled', budget_tokens: 2000 }, tools: [tool('f')] };
  const loop = [
    { role: 'user', content: 'Do.' },
    { role: 'assistant', tool_calls: [call('1')] },
    { role: 'tool', tool_call_id: '1', content: 'done' },
  ];
  const notes = { reasoning: { thinking: 'left_out', reason: 'no_signed_thinking_in_tool_loop' } };
  const outcome = (body: JsonObject) => {
    const request = asked(body, { model });
    if (E.isLeft(request)) throw new Error(request.left.message);
    return { thinking: request.right.body['additionalModelRequestFields'], notes: request.right.notes };
  };

  it('is left out of the call, with a note, where it is manual', () => {
    expect(outcome({ ...asks, messages: loop })).toEqual({ thinking: undefined, notes });
    const own = { additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 5 }, x: 1 } };
    expect(outcome({ tools: [tool('f')], ...own, messages: loop })).toEqual({ thinking: { x: 1 }, notes });
  });

  it('is kept in calls outside the loop, without a note', () => {
    const thinking = { thinking: { type: 'enabled', budget_tokens: 2000 } };
    for (const messages of [
      loop.slice(0, 1),
      [...loop, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'More.' }],
    ])
      expect(outcome({ ...asks, messages })).toEqual({ thinking, notes: undefined });
    expect(outcome({ ...asks, tool_choice: 'none', messages: loop })).toEqual({ thinking, notes: undefined });
  });

  it('is kept where the field is for another model family', () => {
    const own = { thinking: { type: 'enabled' } };
    const body = { tools: [tool('f')], additionalModelRequestFields: own, messages: loop };
    const request = asked(body, { model: 'zai.glm-4.6' });
    expect(E.isRight(request) && request.right).toMatchObject({
      body: { additionalModelRequestFields: own },
      notes: undefined,
    });
  });

  it('is kept where it is adaptive, which the upstream accepts there', () => {
    const request = asked(
      { thinking: { type: 'adaptive' }, tools: [tool('f')], messages: loop },
      { model: 'anthropic.claude-opus-4-7' },
    );
    expect(E.isRight(request) && request.right).toMatchObject({
      body: { additionalModelRequestFields: { thinking: { type: 'adaptive' } } },
    });
    expect(E.isRight(request) && request.right.notes).toBeUndefined();
  });
});
