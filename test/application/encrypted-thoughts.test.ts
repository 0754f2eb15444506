import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { ChatEvent } from '../../domain/chat/chat-stream.ts';
import { fromChatCompletion } from '../../domain/messages/from-chat.ts';
import type { FamilySupport } from '../../domain/routing/model.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { maxHeldBackChars } from '../../domain/shared/limits.ts';
import { writtenChat } from '../support/written-chat.ts';
import { about, called, done, piece, says, told } from '../domain/messages/messages-stream-told.ts';

const thought = (id: string, data = 'AAA'): JsonObject => ({
  type: 'reasoning.encrypted',
  id,
  data,
  format: 'google-gemini-v1',
  index: 0,
});
const carried = (id: string) => ({
  extra_content: { reasoning_details: [thought(id)] },
});

describe('encrypted thoughts of a chat answer reach messages callers on the tool_use block of their call', () => {
  const f = piece(0, '{}', { id: 'a' }, 'f');
  const g = piece(1, '{}', { id: 'b' }, 'g');

  const streamed = (...events: readonly ChatEvent[]): readonly unknown[] =>
    told(...events, done).flatMap(({ content_block: block }) => (block === undefined ? [] : [block]));
  const whole = (...deltas: readonly JsonObject[]): readonly unknown[] => {
    const completion = { choices: deltas.map((message) => ({ index: 0, message })) };
    const answer = fromChatCompletion(completion, about);
    if (E.isLeft(answer)) throw new Error(JSON.stringify(answer.left));
    return answer.right['content'] as readonly unknown[];
  };
  const block = (id: string, name: string, more = {}) => ({ type: 'tool_use', id, name, input: {}, ...more });

  it.each<[string, readonly JsonObject[]]>([
    ['before the calls', [{ reasoning_details: [thought('b')] }, { tool_calls: [f, g] }]],
    ['with them', [{ reasoning_details: [thought('b')], tool_calls: [f, g] }]],
    [
      'between others',
      [
        { reasoning_details: [{ type: 'reasoning.encrypted', data: 'X' }, thought('rs_1'), thought('b')] },
        {
          reasoning_details: [
            { ...thought('a'), data: null },
            { ...thought('a'), type: 'reasoning.text' },
          ],
        },
        { tool_calls: [f, g] },
        { reasoning_details: [] },
      ],
    ],
  ])('%s, streamed and whole', (_, deltas) => {
    const blocks = [block('a', 'f'), block('b', 'g', carried('b'))];
    expect(streamed(...deltas.map(says))).toEqual(blocks);
    expect(whole(...deltas)).toEqual(blocks);
  });

  it('with the id that the caller knows the call by', () => {
    const again = { reasoning_details: [thought('a')], tool_calls: [f, { ...f, index: 1 }] };
    const [, second] = whole(again) as readonly JsonObject[];
    expect(second).toMatchObject(carried('toolu_1_1'));
  });

  it('unless they are longer than what is held of an answer', () => {
    const long = thought('a', 'A'.repeat(maxHeldBackChars + 1));
    expect(streamed(says({ reasoning_details: [long, thought('b')] }), called(f, g))).toEqual([
      block('a', 'f'),
      block('b', 'g'),
    ]);
  });
});

describe('and go back in the message of the calls, to models that sign their calls', () => {
  const history = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {}, ...carried('a') }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'b', name: 'g', input: {}, ...carried('b') }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a' },
        { type: 'tool_result', tool_use_id: 'b' },
      ],
    },
  ];

  const sentTo = (upstreamModel: string, takes: FamilySupport, compat = {}) =>
    writtenChat(
      { model: 'm', max_tokens: 9, messages: history },
      { upstreamModel, compatibility: { compat } },
      takes,
    )['messages'] as readonly JsonObject[];
  const thoughtsSent = (...args: Parameters<typeof sentTo>) =>
    sentTo(...args).map(({ reasoning_details }) => reasoning_details);

  it('whole, once for calls of one message', () => {
    expect(thoughtsSent('google/gemini-3-pro-preview', 'as_written')).toEqual([
      undefined,
      [thought('a'), thought('b')],
      undefined,
      undefined,
    ]);
  });

  it.each<[string, Parameters<typeof sentTo>]>([
    ['other models', ['openai/gpt-5.5', 'as_written']],
    ['providers that write their own body', ['google/gemini-3-pro-preview', 'translated']],
    ['routes that omit reasoning', ['google/gemini-3', 'as_written', { assistant_reasoning: 'omit' }]],
  ])('not to %s', (_, args) => {
    const sent = sentTo(...args);
    expect(JSON.stringify(sent)).not.toContain('reasoning');
    expect(JSON.stringify(sent).match(/"function":/g)).toHaveLength(2);
  });
});
