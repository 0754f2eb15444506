import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { prepareTranslatedChat } from '../../../domain/chat/prepare-chat.ts';
import { isString, parseExactObject } from '../../../domain/shared/json.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const reasoning = [{ type: 'thinking', thinking: 'a' }];
const own = {
  compat: { reasoning },
  cloud_a_platform: { stop_reason: 'SAFETY' },
  cloud_b_platform: { reasoning },
};
const answer = { role: 'assistant', content: 'b' };

/** The messages that are sent upstream for a conversation with this message. */
function sent(message: object, compat = {}): unknown {
  const text = JSON.stringify({ model: 'fast', messages: [{ role: 'developer', content: 'a' }, message] });
  const route = aRoute({ upstreamModel: 'fast', compatibility: { compat } });
  const body = prepareTranslatedChat(parseExactObject(text), route);
  return E.isRight(body) && isString(body.right) ? parseExactObject(body.right)['messages'] : body;
}

describe('the messages of a chat call', () => {
  it.each<[string, object, object]>([
    ['all of it', { ...answer, provider_metadata: own }, answer],
    [
      'but what others keep there',
      { ...answer, provider_metadata: { ...own, gateway: { cost: 1 } } },
      { ...answer, provider_metadata: { gateway: { cost: 1 } } },
    ],
  ])(
    'what the gateway added to an answer is not sent back to a chat-style upstream: %s',
    (_, message, upstream) => {
      expect(sent(message)).toEqual([{ role: 'developer', content: 'a' }, upstream]);
      expect(sent(message, { developer_role: 'system' })).toEqual([
        { role: 'system', content: 'a' },
        upstream,
      ]);
    },
  );

  it.each<[string, object]>([
    ['of others', { ...answer, provider_metadata: { gateway: { cost: 1 } } }],
    ['that is no object', { ...answer, provider_metadata: 'compat' }],
    ['nowhere', answer],
  ])('keep metadata %s', (_, message) => {
    expect(sent(message)).toEqual([{ role: 'developer', content: 'a' }, message]);
  });
});
