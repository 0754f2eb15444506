import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../domain/shared/json.ts';
import {
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { refusal, sent } from './messages-body-sending.ts';
import { rejected, sent as sentUnified } from './unified-sending.ts';

const png = 'iVBORw0KGgo=';
const imageOf = (url: string) => ({ type: 'image_url', image_url: { url } });
const drawn = (images: readonly JsonObject[]): JsonObject => ({
  max_tokens: 100,
  messages: [
    { role: 'user', content: 'Draw a cat.' },
    { role: 'assistant', content: 'Here it is.', images },
    { role: 'user', content: 'What is on it?' },
  ],
});
const cat = drawn([imageOf(`data:image/png;base64,${png}`)]);

describe('images of the assistant', () => {
  it.each([
    ['invoke', invokeRules],
    ['endpointb_messages', endpointbRules],
  ])('are sent as images of the user, behind the message that they came with: %s', (_, rules) => {
    expect(sent({ model: 'm', ...cat }, rules)['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Draw a cat.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Here it is.' }] },
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'text', text: 'What is on it?' },
        ],
      },
    ]);
  });

  it('are sent as images of the user, behind the message that they came with: converse', () => {
    expect(sentUnified(cat)['messages']).toEqual([
      { role: 'user', content: [{ text: 'Draw a cat.' }] },
      { role: 'assistant', content: [{ text: 'Here it is.' }] },
      {
        role: 'user',
        content: [{ image: { format: 'png', source: { bytes: png } } }, { text: 'What is on it?' }],
      },
    ]);
  });

  it('are rejected by name where they cannot be sent', () => {
    const body = drawn([imageOf('https://example.com/cat.png')]);
    const param = 'messages[1].images[0].image_url.url';
    expect(refusal({ model: 'm', ...body }, invokeRules)?.param).toBe(param);
    expect(rejected(body)).toBe(param);
    expect(refusal({ model: 'm', ...cat }, rawPredictRules)?.param).toBe('messages[1].images[0].type');
  });

  it('of an empty list change nothing', () => {
    const { messages } = sentUnified(drawn([]));
    expect(messages).toHaveLength(3);
  });
});
