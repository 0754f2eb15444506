import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatWatched, readChatRequest } from '../../../domain/chat/chat-request.ts';
import { compatOf, takesReasoning } from '../../../domain/compatibility/compat.ts';
import { nothingKept } from '../../../domain/messages/chat-messages.ts';
import { prepareChat, prepareTranslatedChat } from '../../../domain/chat/prepare-chat.ts';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const routeWith = (compat: JsonObject) => aRoute({ upstreamModel: 'fast', compatibility: { compat } });
const content = { assistant_reasoning: 'reasoning_content' };

const user = { role: 'user', content: 'Hi' };
const result = { role: 'tool', tool_call_id: 'a', content: 'x' };
const said = (more: object) => ({ role: 'assistant', content: 'Hello', ...more });

/** The text of `messages` as it is sent upstream. */
function textOf(messages: string, compat: JsonObject): string {
  const document = parseDocument(`{"model":"fast","messages":${messages}}`, chatWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  const request = readChatRequest(document.right);
  if (E.isLeft(request)) throw new Error(request.left.message);
  const body = E.map(outboundText)(prepareChat(request.right, routeWith(compat)));
  if (E.isLeft(body)) throw new Error(body.left.message);
  return body.right.slice('{"model":"fast","messages":'.length, -1);
}

const sent = (messages: readonly object[], compat: JsonObject): unknown =>
  JSON.parse(textOf(JSON.stringify(messages), compat));

describe('assistant_reasoning: reasoning of the assistant is sent in the field that it names', () => {
  it.each<[string, JsonObject, object, object]>([
    ['from the field of streams', content, { reasoning: 'Why' }, { reasoning_content: 'Why' }],
    ['from another field', content, { reasoning_text: 'Why' }, { reasoning_content: 'Why' }],
    [
      'instead of an empty one',
      content,
      { reasoning_content: '', reasoning: 'Why' },
      { reasoning_content: 'Why' },
    ],
    ['as a space if there is none', content, {}, { reasoning_content: ' ' }],
    ['as a space if it is null', content, { reasoning_content: null }, { reasoning_content: ' ' }],
    ['as a space if it is empty', content, { reasoning_content: '' }, { reasoning_content: ' ' }],
    [
      'in `reasoning`',
      { assistant_reasoning: 'reasoning' },
      { reasoning_content: 'Why' },
      { reasoning: 'Why' },
    ],
  ])('%s', (_, compat, given, moved) => {
    expect(sent([user, said(given), user], compat)).toEqual([user, said(moved), user]);
  });

  it('or in none: `omit`', () => {
    const reasoning = { reasoning: 'a', reasoning_content: null, reasoning_text: '', reasoning_details: [] };
    expect(sent([user, said(reasoning), said({})], { assistant_reasoning: 'omit' })).toEqual([
      user,
      said({}),
      said({}),
    ]);
  });

  it('also in a message that `user_after_results` adds', () => {
    const both = { ...content, user_after_results: 'bridge' };
    expect(sent([user, said({ reasoning_content: 'Why' }), result, user], both)).toEqual([
      user,
      said({ reasoning_content: 'Why' }),
      result,
      { role: 'assistant', content: 'Understood.', reasoning_content: ' ' },
      user,
    ]);
  });

  it.each([
    ['in the field', content, [user, said({ reasoning_content: 'Why' }), user]],
    ['in the field and in another', content, [user, said({ reasoning_content: 'Why', reasoning: 'No' })]],
    ['no message of the assistant', content, [user, { ...user, reasoning: 'Why' }]],
    ['no reasoning to omit', { assistant_reasoning: 'omit' }, [said({}), { ...user, reasoning: 'Why' }]],
    ['any field by default', {}, [user, said({ reasoning: 'Why' }), said({})]],
  ])('keeps the original text with %s', (_, compat, messages) => {
    const text = JSON.stringify(messages, null, 1);
    expect(textOf(text, compat)).toBe(text);
  });

  it('keeps every digit of the messages', () => {
    expect(textOf('[{"role":"assistant","content":"a","x":1.0}]', content)).toBe(
      '[{"role":"assistant","content":"a","x":1.0,"reasoning_content":" "}]',
    );
  });
});

describe('a messages call to an upstream that takes reasoning back', () => {
  const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
  const toolResult = (id: string) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }],
  });
  const thinking = (text: string, more: object = { signature: '' }) => ({
    type: 'thinking',
    thinking: text,
    ...more,
  });
  const assistant = (...blocks: readonly object[]) => ({ role: 'assistant', content: blocks });

  const assistantsOf = (messages: readonly object[], thinks = true): unknown => {
    const value = { messages: [user, ...messages] } as JsonObject;
    const ask = { model: 'fast', stream: false, document: { value } };
    const chat = toChatBody(ask, 'upstream', { ...nothingKept, thinking: thinks });
    if (E.isLeft(chat)) throw new Error(chat.left.message);
    const body = prepareTranslatedChat(chat.right, routeWith(content));
    if (E.isLeft(body)) throw new Error(body.left.message);
    const { messages: all } = JSON.parse(body.right) as { readonly messages: readonly JsonObject[] };
    return all.flatMap(({ role, reasoning_content }) => (role === 'assistant' ? [reasoning_content] : []));
  };

  it.each<[string, readonly object[], readonly string[]]>([
    ['thinking that the gateway made of it', [assistant(thinking('Why'), call('a'))], ['Why']],
    ['thinking without a signature', [assistant(thinking('Why', {}), call('a'))], ['Why']],
    ['several blocks of it', [assistant(thinking('a'), call('a'), thinking('b'))], ['a\n\nb']],
    [
      'it of consecutive turns whose calls are one message',
      [assistant(thinking('a'), call('a')), assistant(thinking('b'), call('b'))],
      ['a\n\nb'],
    ],
    [
      'a space for a turn without it',
      [assistant(call('a')), toolResult('a'), assistant(call('b'))],
      [' ', ' '],
    ],
    [
      'no thinking that another upstream signed',
      [assistant(thinking('x', { signature: 's' }), call('a'))],
      [' '],
    ],
    [
      'no redacted thinking',
      [assistant({ type: 'redacted_thinking', data: 'x' }, { type: 'text', text: 'Hi' })],
      [' '],
    ],
    ['no message that has nothing else', [assistant(thinking('x')), user], []],
  ])('has %s', (_, messages, reasoning) => {
    expect(assistantsOf(messages)).toEqual(reasoning);
  });

  it('has none where the translation does not keep it', () => {
    expect(assistantsOf([assistant(thinking('Why'), call('a'))], false)).toEqual([' ']);
  });
});

it.each([
  ['reasoning_content', true],
  ['reasoning', true],
  ['omit', false],
  ['preserve', false],
])('an upstream takes reasoning back if its route says so: %s', (assistant_reasoning, takes) => {
  expect(takesReasoning(compatOf({ compat: { assistant_reasoning } }))).toBe(takes);
});
