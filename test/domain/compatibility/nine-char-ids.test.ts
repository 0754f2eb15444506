import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { prepareTranslatedChat } from '../../../domain/chat/prepare-chat.ts';
import { nineCharIds } from '../../../domain/compatibility/nine-char-ids.ts';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import { type JsonObject, objectsOf } from '../../../domain/shared/json.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const user = { role: 'user', content: 'Hi' };
const answer = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' });

const [isNeeded, rewrite] = nineCharIds;

/** Ids of calls and results in the order of the conversation. */
const idsIn = (messages: unknown): readonly unknown[] =>
  objectsOf(messages as readonly JsonObject[]).flatMap(({ tool_calls: calls, tool_call_id: id }) =>
    id === undefined ? objectsOf(calls).map((call) => call['id']) : [id],
  );

describe('call_ids: `nine_characters` gives calls ids of nine letters and digits', () => {
  it.each<[string, readonly JsonObject[], readonly string[]]>([
    [
      'in place of those of other upstreams',
      [
        answer('toolu_01A09q90qw90lq917835lq9', 'call_1'),
        result('call_1'),
        result('toolu_01A09q90qw90lq917835lq9'),
      ],
      ['000000001', '000000002', '000000002', '000000001'],
    ],
    [
      'unless they are Mistral’s',
      [answer('Ab3dEf6hI', 'x'), result('Ab3dEf6hI')],
      ['Ab3dEf6hI', '000000001', 'Ab3dEf6hI'],
    ],
    [
      'of their own where several have one id',
      [
        answer('call_0', 'call_0'),
        result('call_0'),
        result('call_0'),
        user,
        answer('call_0'),
        result('call_0'),
      ],
      ['000000001', '000000002', '000000001', '000000002', '000000003', '000000003'],
    ],
    [
      'of their own also if that id is valid',
      [answer('Ab3dEf6hI'), result('Ab3dEf6hI'), answer('Ab3dEf6hI'), result('Ab3dEf6hI')],
      ['Ab3dEf6hI', 'Ab3dEf6hI', '000000001', '000000001'],
    ],
    [
      'that no other call has',
      [answer('a', '000000001', '000000002'), result('a')],
      ['000000003', '000000001', '000000002', '000000003'],
    ],
    [
      'of the latest call, where its result comes after another answer',
      [answer('call_0'), user, answer('call_0'), user, answer('call_1'), result('call_0')],
      ['000000001', '000000002', '000000003', '000000002'],
    ],
    ['and to a result whose call is gone', [result('call_1'), user], ['000000001']],
  ])('%s', (_, messages, ids) => {
    expect(isNeeded(messages)).toBe(true);
    expect(idsIn(rewrite(messages))).toEqual(ids);
  });

  it('and changes nothing else', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' }, index: 0 };
    const messages = [
      user,
      'text',
      { role: 'assistant', content: 'I look.', tool_calls: [call, null] },
      { role: 'assistant', tool_calls: null },
    ];
    expect(rewrite(messages)).toEqual([
      user,
      'text',
      { role: 'assistant', content: 'I look.', tool_calls: [{ ...call, id: '000000001' }, null] },
      { role: 'assistant', tool_calls: null },
    ]);
  });

  it('and is not needed where each call has one', () => {
    expect(isNeeded([user, answer('Ab3dEf6hI', 'abcdefgh1'), result('abcdefgh1'), result('Ab3dEf6hI')])).toBe(
      false,
    );
    expect(isNeeded(undefined)).toBe(false);
  });

  const id = fc.oneof(
    fc.constantFrom('call_0', 'toolu_1', 'Ab3dEf6hI', '', '__proto__', '000000001', '000000003'),
    fc.stringMatching(/^[a-zA-Z0-9_-]{1,12}$/),
  );
  const turns = fc
    .array(fc.uniqueArray(id, { minLength: 1, maxLength: 4 }), { maxLength: 6 })
    .map((answers) => answers.flatMap((ids) => [answer(...ids), ...ids.map(result), user]));

  it('for any conversation: each call has its own, and each result that of its call', () => {
    fc.assert(
      fc.property(turns, (messages) => {
        const sent = rewrite(messages) as readonly JsonObject[];
        const calls = sent.flatMap((message) => objectsOf(message['tool_calls']).map((call) => call['id']));
        expect(new Set(calls).size).toBe(calls.length);
        for (const each of calls) expect(each).toMatch(/^[A-Za-z0-9]{9}$/);
        expect(sent.flatMap((message) => message['tool_call_id'] ?? [])).toEqual(calls);
        expect(isNeeded(sent)).toBe(false);
      }),
    );
  });

  it('that stay as the conversation grows', () => {
    fc.assert(
      fc.property(turns, (messages) => {
        const next = [...messages, answer('call_0', 'toolu_9'), result('call_0'), result('toolu_9')];
        expect(idsIn(rewrite(next)).slice(0, idsIn(messages).length)).toEqual(idsIn(rewrite(messages)));
      }),
    );
  });
});

it('a messages conversation with Claude continues with Mistral', () => {
  const value = {
    messages: [
      user,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_01A', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01A', content: 'x' }] },
    ],
  };
  const chat = toChatBody({ model: 'fast', stream: false, document: { value } });
  if (E.isLeft(chat)) throw new Error(chat.left.message);
  const compatibility = { compat: { call_ids: 'nine_characters' } };
  const body = prepareTranslatedChat(chat.right, aRoute({ upstreamModel: 'fast', compatibility }));
  if (E.isLeft(body)) throw new Error(body.left.message);
  expect(idsIn((JSON.parse(body.right) as JsonObject)['messages'])).toEqual(['000000001', '000000001']);
});
