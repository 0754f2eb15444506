import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatWatched, readChatRequest } from '../../../domain/chat/chat-request.ts';
import { prepareChat, prepareTranslatedChat } from '../../../domain/chat/prepare-chat.ts';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const leading = { system_messages: 'leading' };
const routeWith = (compat: JsonObject) => aRoute({ upstreamModel: 'fast', compatibility: { compat } });
const system = (content: string) => ({ role: 'system', content });
const developer = (content: string) => ({ role: 'developer', content });
const user = { role: 'user', content: 'Hi' };
const said = { role: 'assistant', content: 'Hello' };

/** The messages of a chat request as they are sent upstream, as JSON text. */
function textOf(messages: string, compat: JsonObject): string {
  const document = parseDocument(`{"model":"fast","messages":${messages}}`, chatWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  const request = readChatRequest(document.right);
  if (E.isLeft(request)) throw new Error(request.left.message);
  const body = E.map(outboundText)(prepareChat(request.right, routeWith(compat)));
  if (E.isLeft(body)) throw new Error(body.left.message);
  return body.right.slice('{"model":"fast","messages":'.length, -1);
}

const sent = (messages: readonly object[], compat: JsonObject = leading): unknown =>
  JSON.parse(textOf(JSON.stringify(messages), compat));

describe('system_messages: `leading` merges system messages into one at the front', () => {
  it.each<[string, readonly object[], readonly object[]]>([
    [
      'messages between the turns are merged into the first',
      [system('a'), user, system('b'), said],
      [system('a\n\nb'), user, said],
    ],
    ['a later message is moved to the front', [user, said, system('b')], [system('b'), user, said]],
    ['several messages at the front are merged', [system('a'), system('b'), user], [system('a\n\nb'), user]],
    ['developer messages are merged too', [developer('a'), user, system('b')], [developer('a\n\nb'), user]],
    [
      'content parts are kept as parts',
      [{ role: 'system', content: [{ type: 'text', text: 'a', cache_control: {} }] }, user, system('b')],
      [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'a', cache_control: {} },
            { type: 'text', text: 'b' },
          ],
        },
        user,
      ],
    ],
    [
      'a message without content is dropped',
      [user, { role: 'system', content: null }, system('b')],
      [system('b'), user],
    ],
  ])('%s', (_, messages, gathered) => {
    expect(sent(messages)).toEqual(gathered);
  });

  it('combined with `developer_role`, which sets the role of the merged message', () => {
    const both = { ...leading, developer_role: 'system' };
    expect(sent([developer('a'), user, developer('b')], both)).toEqual([system('a\n\nb'), user]);
  });

  it.each([
    ['a single system message at the front', leading, [system('a'), user, said]],
    ['no system message', leading, [user, said]],
    ['any system messages by default', {}, [user, system('b'), said, system('c')]],
  ])('keeps the original text with %s', (_, compat, messages) => {
    const text = JSON.stringify(messages, null, 1);
    expect(textOf(text, compat)).toBe(text);
  });

  it('keeps every digit of the other messages', () => {
    const text = '[{"role":"user","content":"Hi","x":1.0},{"role":"system","content":"b"}]';
    expect(textOf(text, leading)).toBe(
      '[{"role":"system","content":"b"},{"role":"user","content":"Hi","x":1.0}]',
    );
  });
});

it('system messages between the turns of a messages call are merged at the front', () => {
  const value = { system: 'a', messages: [user, system('b'), said, user] };
  const chat = toChatBody({ model: 'fast', stream: false, document: { value } });
  if (E.isLeft(chat)) throw new Error(chat.left.message);
  expect(E.map(JSON.parse)(prepareTranslatedChat(chat.right, routeWith(leading)))).toMatchObject({
    right: { messages: [system('a\n\nb'), user, said, user] },
  });
});
