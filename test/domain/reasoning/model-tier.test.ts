import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type ModelTier,
  modelTier,
  modelTiers,
  takesStrictTools,
  takesSystemTurns,
  thinkingOff,
} from '../../../domain/reasoning/model-tier.ts';

/** Ids by tier, as platforms write them and as the specification's table names them. */
const ids: Readonly<Record<ModelTier, readonly string[]>> = {
  preview: ['claude-mythos-preview', 'anthropic/claude-mythos-preview', 'anthropic.claude-mythos-preview'],
  latest: [
    'claude-opus-4-7',
    'claude-opus-4-8',
    'claude-opus-4-10',
    'claude-sonnet-5',
    'claude-opus-5',
    'claude-fable-5',
    'anthropic/claude-opus-4-7@20260416',
    'us.anthropic.claude-opus-4-7-v1:0',
    'global.anthropic.claude-opus-4-8-20260520-v1:0',
    'claude-sonnet-5-20260601',
    'claude-sonnet-5@20260601',
    'claude-opus-5-fast',
    'CLAUDE-OPUS-5',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5-v1:0',
    'arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-opus-4-7',
    'my-claude-opus-4-7-profile',
    // Newer than a listed latest one.
    'claude-opus-5-5',
    'claude-opus-6',
    'claude-sonnet-5-5',
    'claude-haiku-5-5',
    'claude-mythos-5',
    'claude-fable-5-1',
    'claude-novella-7',
  ],
  previous: [
    'claude-opus-4-6',
    'claude-sonnet-4-6',
    'anthropic.claude-opus-4-6-v1',
    'us.anthropic.claude-sonnet-4-6',
    'anthropic/claude-opus-4-6@20260205',
    'claude-sonnet-4-6-20260217',
  ],
  one_older: [
    'claude-opus-4-5',
    'claude-opus-4-5-20251101',
    'anthropic/claude-opus-4-5@20251101',
    'anthropic.claude-opus-4-5-20251101-v1:0',
  ],
  older: [
    'claude-opus-4',
    'claude-opus-4-20250514',
    'claude-opus-4@20250514',
    'claude-opus-4-1-20250805',
    'claude-opus-4-1@20250805',
    'claude-sonnet-4-5-20250929',
    'anthropic.claude-sonnet-4-20250514-v1:0',
    'claude-haiku-4-5@20251001',
    'claude-3-7-sonnet-20250219',
    'claude-3-5-sonnet-v2@20241022',
    'anthropic.claude-3-haiku-20240307-v1:0',
    'claude-instant-1.2',
    'anthropic.claude-v2:1',
    // Ids in which no version can be read.
    '',
    'claude-opus',
    'claude-opus-latest',
    'claude-opus-x4-7',
    'notclaude-opus-5',
    'claude-mythos-previews',
    'gpt-5',
    'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6',
  ],
};

describe('family tiers by upstream model id', () => {
  it.each(modelTiers.flatMap((tier) => ids[tier].map((id) => [id, tier] as const)))(
    '%s is %s',
    (id, tier) => {
      expect(modelTier(id)).toBe(tier);
    },
  );

  it('a date in an id is not a version', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('opus', 'sonnet', 'haiku'),
        fc.integer({ min: 20_240_101, max: 20_991_231 }),
        fc.constantFrom('-', '@'),
        (family, date, sign) => modelTier(`claude-${family}-4${sign}${date}`) === 'older',
      ),
    );
  });

  it('prefixes of platforms and suffixes do not change the tier', () => {
    const known = modelTiers.flatMap((tier) =>
      ids[tier].filter((id) => /^claude-[a-z]+-[a-z0-9-]+$/.test(id)),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...known),
        fc.constantFrom(
          '',
          'anthropic/',
          'anthropic.',
          'us.anthropic.',
          'arn:aws:bedrock:x:1:inference-profile/eu.',
        ),
        fc.constantFrom('', '-v1', '-v1:0', '@default', ':thinking'),
        (id, prefix, suffix) => modelTier(prefix + id + suffix) === modelTier(id),
      ),
    );
  });

  it('a newer version than those of the table is latest, in any family', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{2,9}$/),
        fc.integer({ min: 5, max: 99 }),
        fc.nat(99),
        (name, major, minor) => modelTier(`claude-${name}-${major}-${minor}`) === 'latest',
      ),
    );
  });
});

describe('messages of the role `system` inside a conversation', () => {
  it.each([
    ['claude-opus-4-8', true],
    ['anthropic/claude-opus-5@20260724', true],
    ['claude-sonnet-5-5', true],
    ['claude-haiku-5-5', true],
    ['claude-opus-4-7', false],
    ['claude-sonnet-5', false],
    ['anthropic/claude-sonnet-5@20260601', false],
    ['us.anthropic.claude-sonnet-5-20260601-v1:0', false],
    ['claude-opus-4-5-20251101', false],
    ['claude-mythos-preview', false],
    ['an-opaque-profile', false],
  ])('%s accepts them: %p', (id, expected) => {
    expect(takesSystemTurns(id)).toBe(expected);
  });
});

describe('no thinking', () => {
  it.each([
    ['claude-opus-5-5', 'least_effort'],
    ['anthropic/claude-opus-6@20270101', 'least_effort'],
    ['us.anthropic.claude-fable-5-v1:0', 'least_effort'],
    ['claude-fable-5-1', 'least_effort'],
    ['claude-mythos-5', 'least_effort'],
    ['claude-sonnet-5-5', 'between_tools'],
    ['claude-opus-5', 'disabled'],
    ['claude-opus-4-8', 'disabled'],
    ['claude-sonnet-5@20260601', 'disabled'],
    ['claude-haiku-5-5', 'disabled'],
    ['an-opaque-profile', 'disabled'],
  ])('is asked of %s by %s', (id, expected) => {
    expect(thinkingOff(id)).toBe(expected);
  });
});

describe('strict tools', () => {
  it.each([
    ['claude-haiku-4-5@20251001', true],
    ['anthropic/claude-opus-4-5', true],
    ['claude-opus-4-10', true],
    ['claude-fable-5-1', true],
    ['claude-opus-4-1@20250805', false],
    ['claude-sonnet-4@20250514', false],
    ['claude-3-7-sonnet', false],
    ['an-opaque-profile', false],
  ])('%s takes them: %p', (id, expected) => {
    expect(takesStrictTools(id)).toBe(expected);
  });
});
