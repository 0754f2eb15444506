import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { hasUserAfterResults, withBridges } from '../../../domain/compatibility/bridged-results.ts';
import { prepareTranslatedChat } from '../../../domain/chat/prepare-chat.ts';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const user = { role: 'user', content: 'Hi' };
const call = { role: 'assistant', content: null, tool_calls: [] };
const result = { role: 'tool', tool_call_id: 'a', content: 'x' };
const bridge = { role: 'assistant', content: 'Understood.' };

describe('user_after_results: `bridge` separates a user message from results of tools', () => {
  it.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    ['behind one result', [user, call, result, user], [user, call, result, bridge, user]],
    ['behind several', [call, result, result, user, user], [call, result, result, bridge, user, user]],
    ['not where the assistant goes on', [call, result, call, result], [call, result, call, result]],
    ['not without results', [user, bridge, user], [user, bridge, user]],
  ])('%s', (_, messages, sent) => {
    expect(withBridges(messages)).toEqual(sent);
    expect(hasUserAfterResults(messages)).toBe(sent.length > messages.length);
  });
});

/** The roles that Mistral accepts behind each (`mistral_common`, `_validate_message_order`). */
const behind: Readonly<Record<string, readonly string[]>> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
};

it('a messages call with reminders beside its results has an order that Mistral accepts', () => {
  const text = (words: string) => ({ type: 'text', text: words });
  const value = {
    system: 'Be brief.',
    messages: [
      user,
      { role: 'system', content: 'The date is known.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }, text('A reminder.')],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'b', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b', content: 'y' }] },
      { role: 'system', content: 'Tokens are left.' },
      user,
    ],
  };
  const compat = { system_messages: 'leading', user_after_results: 'bridge' };
  const chat = toChatBody({ model: 'fast', stream: false, document: { value } });
  if (E.isLeft(chat)) throw new Error(chat.left.message);
  const body = prepareTranslatedChat(
    chat.right,
    aRoute({ upstreamModel: 'fast', compatibility: { compat } }),
  );
  if (E.isLeft(body)) throw new Error(body.left.message);
  const { messages } = JSON.parse(body.right) as { readonly messages: readonly { readonly role: string }[] };
  const refused = messages.slice(1).find(({ role }, index) => !behind[messages[index]!.role]?.includes(role));
  expect(refused).toBeUndefined();
  expect(messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ]);
});
