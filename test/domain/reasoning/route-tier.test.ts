import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { routeTiers, messagesTier, unifiedTier } from '../../../domain/reasoning/route-tier.ts';
import { isOtherFamily, modelTier } from '../../../domain/reasoning/model-tier.ts';

const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6';

const route = (upstreamModel: string, tier?: string) => ({
  upstreamModel,
  compatibility: {
    cloud_b: { api_style: 'runtime_unified', ...(tier === undefined ? {} : { model_tier: tier }) },
  },
});

describe('the tier of a route without `model_tier`', () => {
  it.each([
    'amazon.nova-lite-v1:0',
    'global.amazon.nova-2-lite-v1:0',
    'openai.gpt-oss-120b-1:0',
    'us.meta.llama4-scout-17b-instruct-v1:0',
    'mistral.mistral-large-2407-v1:0',
    'qwen.qwen3-coder-480b-a35b-v1:0',
    'deepseek.v3-v1:0',
    'moonshot.kimi-k2-thinking',
    'us-gov.amazon.nova-pro-v1:0',
    'AMAZON.NOVA-LITE-V1:0',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0',
    'arn:aws:bedrock:eu-west-1::foundation-model/openai.gpt-oss-20b-1:0',
  ])('%s has no tier', (id) => {
    expect(isOtherFamily(id)).toBe(true);
    expect(unifiedTier(route(id))).toBeUndefined();
  });

  it.each([
    'anthropic.claude-opus-4-7',
    'us.anthropic.claude-sonnet-4-6',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5-v1:0',
    profile,
    'my-amazon-profile',
    '',
  ])('%s has the tier of its id', (id) => {
    expect(unifiedTier(route(id))).toBe(modelTier(id));
    expect(messagesTier(route(id))).toBe(modelTier(id));
  });
});

it('`model_tier` determines the tier of a route, whatever the id of the model', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(profile, 'amazon.nova-2-lite-v1:0', 'anthropic.claude-opus-4-7'),
      fc.constantFrom(...routeTiers),
      (id, tier) => {
        expect(unifiedTier(route(id, tier))).toBe(tier === 'none' ? undefined : tier);
        if (tier !== 'none') expect(messagesTier(route(id, tier))).toBe(tier);
      },
    ),
  );
});
