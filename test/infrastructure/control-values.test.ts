import { describe, expect, it } from '@jest/globals';
import type { Json } from '../../domain/shared/json.ts';
import * as generateContent from './generate-content-sending.ts';
import * as messagesBody from './messages-body-sending.ts';
import { translatedBodies } from './refused-fields.ts';

const noNumbers: readonly Json[] = ['0.5', '', 'NaN', true, [], [0.5], {}];
const noIntegers: readonly Json[] = [...noNumbers, 1.5, -1, 1e30];

/** Controls that every body has, with values that none of its APIs takes. */
const everywhere: readonly (readonly [string, readonly Json[]])[] = [
  ['temperature', [...noNumbers, -0.1, 2.1, 1e30]],
  ['top_p', [...noNumbers, -0.1, 1.1]],
  ['top_k', noIntegers],
  ['max_tokens', [...noIntegers, 0, 2 ** 31]],
  ['max_completion_tokens', [...noIntegers, 0]],
  ['stop', [5, true, {}, [1], ['a', null], [['a']]]],
  ['stop_sequences', ['a', 5, {}, [1], ['a', null]]],
  ['parallel_tool_calls', ['true', 1, [], {}]],
  ['response_format', [{}, { type: 5 }, { type: 'grammar' }]],
  ['reasoning_effort', [5, '', [], {}]],
  ['reasoning_budget_tokens', [...noIntegers, 0]],
  ['tool_choice', ['', 'any', 5, true, [], {}]],
];

/** Controls that only generate-content has. */
const ofGenerateContent: readonly (readonly [string, readonly Json[]])[] = [
  ['n', [...noIntegers, 0, 129]],
  ['seed', [...noNumbers, 1.5, 2 ** 31, -(2 ** 31) - 1]],
  ['presence_penalty', [...noNumbers, -2.1, 2]],
  ['frequency_penalty', [...noNumbers, -2.1, 2]],
  ['logprobs', ['true', 1, [], {}]],
  ['top_logprobs', [...noIntegers, 21]],
  ['modalities', ['text', 5, true, {}, [5]]],
  ['top_k', [0]],
];

/** The name of the field itself, or of a member of it. */
const named = (field: string) => expect.stringMatching(new RegExp(`^${field}(?:[.[]|$)`));

describe.each(translatedBodies)('a chat control, for a body of %s,', (_, refusedFor) => {
  it.each(everywhere)('is rejected by name if its value is invalid: %s', (field, values) => {
    for (const value of values) {
      const limit = field === 'max_completion_tokens' ? { max_tokens: null } : {};
      expect({ value, param: refusedFor({ ...limit, [field]: value }) }).toEqual({
        value,
        param: named(field),
      });
    }
  });
});

describe('a chat control of generate-content', () => {
  it.each(ofGenerateContent)('is rejected by name if its value is invalid: %s', (field, values) => {
    for (const value of values)
      expect({ value, param: generateContent.refused({ [field]: value }) }).toEqual({
        value,
        param: named(field),
      });
  });

  it.each<[string, object]>([
    ['least', { temperature: 0, top_p: 0, top_k: 1, n: 1, seed: -(2 ** 31), presence_penalty: -2 }],
    ['greatest', { temperature: 2, top_p: 1, top_k: 64, n: 128, seed: 2 ** 31 - 1, presence_penalty: 1.99 }],
  ])('is sent with the %s value', (_, { ...controls }) => {
    expect(Object.values(generateContent.sent(controls)['generationConfig'] as object)).toEqual(
      expect.arrayContaining(Object.values(controls)),
    );
  });

  it('is absent if it is null', () => {
    const fields = [...everywhere, ...ofGenerateContent].map(([field]) => [field, null]);
    expect(generateContent.sent(Object.fromEntries(fields))).toEqual(generateContent.sent({}));
  });

  it('lists no alternatives of tokens for 0, which the platform does not take', () => {
    expect(generateContent.sent({ logprobs: true, top_logprobs: 0 })['generationConfig']).toEqual({
      responseLogprobs: true,
    });
  });

  it('stops at no empty sequence', () => {
    expect(generateContent.sent({ stop: ['', 'a'] })['generationConfig']).toEqual({ stopSequences: ['a'] });
  });
});

describe('the messages family', () => {
  const family = translatedBodies.filter(([name]) => !/^(?:generate-content|converse)$/.test(name));

  it.each(family)('takes a temperature from 0 to 1, in a body of %s', (_, refusedFor) => {
    expect(refusedFor({ temperature: 1.1 })).toBe('temperature');
  });

  it.each(family)('takes no stop sequence of white space alone, in a body of %s', (_, refusedFor) => {
    expect(refusedFor({ stop: '\n' })).toBe('stop');
    expect(refusedFor({ stop: ['a', ''] })).toBe('stop');
    expect(refusedFor({ stop_sequences: [' '] })).toBe('stop_sequences');
  });

  it('of the latest models says that it takes no temperature, whatever its value', () => {
    for (const [, rules] of messagesBody.styles)
      expect(
        messagesBody.refusal({ ...messagesBody.minimal, temperature: 1.5 }, rules, {
          upstreamModel: 'anthropic/claude-opus-4-7',
        })?.message,
      ).toContain('cannot be set on this model');
  });
});
