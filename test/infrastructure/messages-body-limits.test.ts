import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { permissive } from '../../domain/routing/capabilities.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { bundledOutputLimits } from '../../infrastructure/pricing/output-limits.ts';
import type { BodyCall } from '../../infrastructure/providers/messages-body/outbound-body.ts';
import { fromChatBody } from '../../infrastructure/providers/messages-body/request.ts';
import {
  type BodyRules,
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

const outbound = (over: object, rules: BodyRules, route: Partial<BodyCall['route']>) =>
  fromChatBody(
    {
      body: JSON.stringify({ ...body, ...over }),
      stream: false,
      betas: [],
      // A model tier that accepts manual thinking budgets.
      route: {
        upstreamModel: 'anthropic/claude-sonnet-4-6',
        compatibility: {},
        capabilities: permissive,
        extraBody: {},
        ...route,
      },
    },
    rules,
    textDigest,
  );

const sent = (over: object, rules: BodyRules, route: Partial<BodyCall['route']> = {}): JsonObject => {
  const result = outbound(over, rules, route);
  if (E.isLeft(result)) throw new Error(result.left.message);
  return JSON.parse(result.right.text) as JsonObject;
};

const filling = [
  ['raw-predict', rawPredictRules],
  ['endpointb_messages', endpointbRules],
] as const;

describe('a chat caller who sends no `max_tokens`', () => {
  it.each(filling)(
    '%s: gets the default of the route, else the limit of the model, else 8192',
    (_, rules) => {
      const absent = [{}, { max_tokens: null }, { max_completion_tokens: null }];
      for (const over of absent) {
        expect(sent(over, rules, { defaultMaxTokens: 300, outputLimit: 64_000 })['max_tokens']).toBe(300);
        expect(sent(over, rules, { outputLimit: 64_000 })['max_tokens']).toBe(64_000);
        expect(sent(over, rules)['max_tokens']).toBe(8192);
      }
    },
  );

  it.each(filling)('%s: a default is raised if the thinking budget does not fit in it', (_, rules) => {
    const sized = { defaultMaxTokens: 8192, outputLimit: 64_000 };
    expect(sent({ thinking_budget_tokens: 8191 }, rules, sized)['max_tokens']).toBe(8192);
    expect(sent({ thinking_budget_tokens: 8192 }, rules, sized)['max_tokens']).toBe(16_384);
  });

  it('invoke: is rejected, unless the route sets `default_max_tokens` or its `extra_body` has one', () => {
    const refused = outbound({}, invokeRules, { outputLimit: 64_000 });
    expect(refused).toMatchObject({ left: { code: 'invalid_request', param: 'max_tokens' } });
    expect(sent({}, invokeRules, { defaultMaxTokens: 300 })['max_tokens']).toBe(300);
    expect(sent({}, invokeRules, { extraBody: { max_tokens: 9 } })['max_tokens']).toBe(9);
  });

  it.each(filling)('%s: `extra_body` is the final override', (_, rules) => {
    expect(sent({}, rules, { defaultMaxTokens: 300, extraBody: { max_tokens: 9 } })['max_tokens']).toBe(9);
  });
});

const limit = fc.integer({ min: 1, max: 200_000 });

it("always: the caller's own limit is sent, for every style and any limits of the route", () => {
  const field = fc.constantFrom('max_tokens', 'max_completion_tokens');
  const rules = fc.constantFrom(rawPredictRules, invokeRules, endpointbRules);
  const route = fc.record({ defaultMaxTokens: limit, outputLimit: limit }, { requiredKeys: [] });
  fc.assert(
    fc.property(field, limit, rules, route, (name, own, style, about) => {
      expect(sent({ [name]: own }, style, about)['max_tokens']).toBe(own);
    }),
    { seed: 51 },
  );
});

it('always: a limit that is filled in exceeds the thinking budget if the model allows it, and the caller’s own is kept', () => {
  const route = fc.record({ defaultMaxTokens: limit, outputLimit: limit }, { requiredKeys: [] });
  fc.assert(
    fc.property(limit, route, (budget, about) => {
      fc.pre(budget < (about.outputLimit ?? Infinity));
      const { max_tokens: filled } = sent({ thinking_budget_tokens: budget }, rawPredictRules, about);
      expect(filled).toBeGreaterThan(budget);
      expect(sent({ thinking_budget_tokens: budget, max_tokens: 5 }, rawPredictRules, about)).toMatchObject({
        max_tokens: 5,
        thinking: { budget_tokens: budget },
      });
    }),
    { seed: 52 },
  );
});

describe('the bundled output limits', () => {
  const limitOf = bundledOutputLimits();

  it.each<[string, number | undefined]>([
    ['anthropic/claude-opus-4-6', 128_000],
    ['anthropic/claude-haiku-4-5@20251001', 64_000],
    ['us.anthropic.claude-opus-4-1-20250805-v1:0', 32_000],
    ['anthropic.claude-3-haiku-20240307-v1:0', 4096],
    ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/global.anthropic.claude-sonnet-5-5', 128_000],
    ['claude-sonnet-4.5', 64_000],
    ['claude-opus-4-20250514', 32_000],
    ['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3', undefined],
    ['amazon.nova-pro-v1:0', undefined],
    ['myclaude-opus-4-6x', undefined],
  ])('%s: %p', (upstreamModel, expected) => {
    expect(limitOf(upstreamModel)).toBe(expected);
  });
});
