import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { permissive } from '../../domain/routing/capabilities.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { fromMessagesBody } from '../../infrastructure/providers/messages-body/native.ts';
import { fromChatBody } from '../../infrastructure/providers/messages-body/request.ts';
import { invokeRules } from '../../infrastructure/providers/messages-body/rules.ts';
import { boundedToolId } from '../../infrastructure/providers/messages-body/tool-ids.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

const boundId = boundedToolId(textDigest);
const valid = /^[A-Za-z0-9_-]{1,64}$/;

const anyId = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.stringMatching(/^[A-Za-z0-9_-]{1,80}$/),
  fc.constantFrom('', 'a|b', 'functions.f:0', 'x'.repeat(64), 'x'.repeat(65), '__proto__', 'toolu_01'),
);

/** The ids of calls and results, as they are sent upstream. */
const pairOf = (encoded: ReturnType<typeof fromChatBody>): readonly unknown[] => {
  if (E.isLeft(encoded)) throw new Error(encoded.left.message);
  const { messages } = JSON.parse(encoded.right.text) as { readonly messages: readonly JsonObject[] };
  const blocks = messages.flatMap(({ content }) => content as readonly JsonObject[]);
  return blocks.flatMap(({ type, id, tool_use_id: of }) => {
    if (type === 'tool_use') return [id];
    return type === 'tool_result' ? [of] : [];
  });
};

const call = (body: object) => ({
  body: JSON.stringify(body),
  stream: false,
  betas: [],
  route: {
    compatibility: {},
    upstreamModel: 'anthropic.claude-opus-4-6-v1',
    capabilities: permissive,
    extraBody: {},
  },
});

const chat = (...ids: readonly string[]): readonly unknown[] =>
  pairOf(
    fromChatBody(
      call({
        model: 'm',
        max_tokens: 9,
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'assistant',
            tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
          },
          ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' })),
        ],
      }),
      invokeRules,
      textDigest,
    ),
  );

const native = (...ids: readonly string[]): readonly unknown[] =>
  pairOf(
    fromMessagesBody(
      call({
        model: 'm',
        max_tokens: 9,
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
          { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })) },
          {
            role: 'user',
            content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })),
          },
        ],
      }),
      invokeRules,
      textDigest,
    ),
  );

describe('replay identifiers', () => {
  it('for any string the bounded id is valid, and always the same', () => {
    fc.assert(
      fc.property(anyId, (id) => valid.test(boundId(id)) && boundId(id) === boundedToolId(textDigest)(id)),
      { numRuns: 1000 },
    );
  });

  it('valid provider-native ids are preserved', () => {
    fc.assert(fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), (id) => boundId(id) === id));
  });

  it('an invalid or overlong id becomes `tool_` and the unpadded base64url SHA-256', () => {
    expect(boundId('x'.repeat(65))).toMatch(/^tool_[A-Za-z0-9_-]{43}$/);
    expect(boundId('')).toBe('tool_47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU');
  });

  it('no id is truncated: long ids that differ only at the end remain different', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 64, maxLength: 90 }),
        (id) => boundId(`${id}a|`) !== boundId(`${id}b|`),
      ),
    );
  });

  it('a call and its result get the same value, in chat bodies and in messages bodies', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyId, { minLength: 1, maxLength: 4 }), (ids) => {
        const expected = [...ids, ...ids].map((id) => boundId(Buffer.from(id).toString()));
        const wellFormed = ids.every((id) => id.isWellFormed());
        fc.pre(wellFormed);
        expect(chat(...ids)).toEqual(expected);
        expect(native(...ids)).toEqual(expected);
      }),
    );
  });

  it('parallel calls with the same id get the same value', () => {
    expect(chat('a|b', 'a|b')).toEqual(Array(4).fill(boundId('a|b')));
  });

  it('another pattern of valid ids can be given', () => {
    const unified = boundedToolId(textDigest, /^[A-Za-z0-9_.:-]{1,64}$/);
    expect(unified('functions.get_temperature:0')).toBe('functions.get_temperature:0');
    expect(boundId('functions.get_temperature:0')).toMatch(/^tool_/);
  });
});
