import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { inCallersNames } from '../../domain/messages/callers-names.ts';
import { toChatBody } from '../../domain/messages/to-chat.ts';
import type { Json, JsonObject } from '../../domain/shared/json.ts';
import * as generateContent from './generate-content-sending.ts';
import { translatedBodies } from './refused-fields.ts';
import * as unified from './unified-sending.ts';

const tools = [{ type: 'function', function: { name: 'f' } }];
const call = (more: JsonObject = {}): JsonObject => ({
  id: 'a',
  type: 'function',
  function: { name: 'f', arguments: '{}' },
  ...more,
});
const said = (members: JsonObject): JsonObject => ({ role: 'assistant', content: 'Hm.', ...members });
const answered = (id: Json): JsonObject => ({ role: 'tool', tool_call_id: id, content: 'ok' });

describe.each(translatedBodies)('in a chat body for a body of %s,', (_, refusedFor) => {
  const fieldAtFault = (...messages: readonly JsonObject[]) =>
    refusedFor({ tools, messages: [{ role: 'user', content: 'Hi' }, ...messages] });

  it.each<[string, Json, string]>([
    ['text', 'f', ''],
    ['an object', {}, ''],
    ['a list with text', [call(), 'f'], '[1]'],
    ['a call without an id', [{ type: 'function', function: { name: 'f' } }], '[0].id'],
    ['a call with a number as its id', [call({ id: 5 })], '[0].id'],
    ['a call without a function', [{ id: 'a' }], '[0].function'],
    ['a call without a name', [call({ function: { arguments: '{}' } })], '[0].function.name'],
    [
      'arguments that are an object',
      [call({ function: { name: 'f', arguments: {} } })],
      '[0].function.arguments',
    ],
    ['a call of another type', [call({ type: 'custom' })], '[0].type'],
  ])('`tool_calls` are rejected by name if they are %s', (_what, tool_calls, path) => {
    expect(fieldAtFault(said({ tool_calls }), answered('a'))).toBe(`messages[1].tool_calls${path}`);
  });

  it.each<[string, Json]>([
    ['refusal', 5],
    ['refusal', ['no']],
    ['images', 'a cat'],
    ['images', {}],
    ['audio', { id: 'a' }],
    ['function_call', { name: 'f' }],
  ])('`%s` of the assistant is rejected by name if it is %j', (field, value) => {
    expect(fieldAtFault(said({ [field]: value }))).toBe(`messages[1].${field}`);
  });

  it('a result is rejected by name if it answers no call that came before it', () => {
    const called = said({ tool_calls: [call()] });
    expect(fieldAtFault(answered('a'), called)).toBe('messages[1].tool_call_id');
    expect(fieldAtFault(called, answered('b'))).toBe('messages[2].tool_call_id');
    for (const id of [null, 5, ['a']])
      expect(fieldAtFault(called, answered(id))).toBe('messages[2].tool_call_id');
  });
});

it('a result in a messages body that answers no call is rejected by its name there', () => {
  const value: JsonObject = {
    model: 'm',
    max_tokens: 9,
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b', content: 'ok' }] },
    ],
  };
  const chat = toChatBody({ model: 'm', stream: false, document: { value } }, 'provider');
  if (E.isLeft(chat)) throw new Error(chat.left.message);
  for (const request of [
    generateContent.outcome(chat.right),
    unified.asked(chat.right, { translated: true }),
  ])
    expect(E.isLeft(request) && inCallersNames(request.left, value)).toMatchObject({
      param: 'messages[2].content[0].tool_use_id',
    });
});

it('results are sent as text where the request offers no tools, whichever call they answer', () => {
  const messages = [{ role: 'user', content: 'Hi' }, answered('b')];
  expect(unified.sent({ messages })['messages']).toEqual([
    { role: 'user', content: [{ text: 'Hi' }, { text: 'The tool call b answered:' }, { text: 'ok' }] },
  ]);
});
