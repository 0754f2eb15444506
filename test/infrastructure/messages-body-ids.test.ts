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

const answer = (...ids: readonly string[]): object => ({
  role: 'assistant',
  content: 'I look.',
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});

const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: 'x' });

const chatOf = (...messages: readonly object[]): readonly unknown[] =>
  pairOf(
    fromChatBody(
      call({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }, ...messages] }),
      invokeRules,
      textDigest,
    ),
  );

const chat = (...ids: readonly string[]): readonly unknown[] => chatOf(answer(...ids), ...ids.map(result));

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

  it('calls with the same id, in one answer or in several, get ids of their own, and so do their results', () => {
    const [first, second] = chat('x', 'x');
    expect([first, second === first, valid.test(String(second))]).toEqual(['x', false, true]);
    expect(chat('x', 'x')).toEqual([first, second, first, second]);
    expect(chat('x', 'y', 'x')).toEqual([first, 'y', second, first, 'y', second]);
    expect(chatOf(answer('x'), result('x'), answer('x'), result('x'))).toEqual([
      first,
      first,
      second,
      second,
    ]);
    expect(chat('a|b', 'a|b')).toEqual([
      boundId('a|b'),
      expect.stringMatching(valid),
      boundId('a|b'),
      chat('a|b', 'a|b')[1],
    ]);
  });

  it('a result belongs to the latest answer with its id, and several results of one call keep its id', () => {
    const [first, second] = chat('x', 'x');
    expect(chatOf(answer('x'), answer('x'), result('x'))).toEqual([first, second, second]);
    expect(chatOf(answer('x'), result('x'), result('x'))).toEqual([first, first, first]);
    expect(chatOf(answer('x'), answer(), result('x'))).toEqual([first, first]);
  });

  it('no two calls of a chat conversation have the same id, and each result has that of its call', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.constantFrom('x', 'y', 'a|b'), { maxLength: 4 }), { maxLength: 6 }),
        (answers) => {
          const ids = chatOf(...answers.flatMap((of) => [answer(...of), ...of.map(result)]));
          let at = 0;
          const calls = answers.flatMap((of) => {
            const own = ids.slice(at, at + of.length);
            expect(ids.slice(at + of.length, at + 2 * of.length)).toEqual(own);
            at += 2 * of.length;
            return own;
          });
          expect(new Set(calls).size).toBe(calls.length);
        },
      ),
    );
  });

  it('parallel calls of a messages conversation keep their ids: the caller wrote the body of the upstream', () => {
    expect(native('x', 'x')).toEqual(Array(4).fill('x'));
  });

  it('another pattern of valid ids can be given', () => {
    const unified = boundedToolId(textDigest, /^[A-Za-z0-9_.:-]{1,64}$/);
    expect(unified('functions.get_temperature:0')).toBe('functions.get_temperature:0');
    expect(boundId('functions.get_temperature:0')).toMatch(/^tool_/);
  });
});
