import { expect, it } from '@jest/globals';
import { basicConfig } from '../support/gateway.ts';
import { payloadsOf, scene, streamed, whole, type Loose } from './scene.ts';
import { messages } from './talk.ts';

/** `fast` is sent to an upstream that refuses calls of tools without the reasoning before them. */
const { ask } = scene((url, key) => ({
  ...basicConfig(url, key),
  models: [
    {
      id: 'fast',
      routes: [
        {
          provider: 'up',
          upstream_model: 'fast',
          compatibility: { compat: { assistant_reasoning: 'reasoning_content' } },
        },
      ],
    },
  ],
}));

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };

const begun =
  chunk({ role: 'assistant', reasoning_content: 'Look ' }) +
  chunk({ reasoning_content: 'first.' }) +
  chunk({ tool_calls: [call] }, 'tool_calls');

/** The blocks of a streamed answer, as clients keep them. */
function blocksOf(payloads: readonly Loose[]): readonly object[] {
  const blocks: Loose[] = [];
  for (const { type, index, content_block, delta } of payloads) {
    if (type === 'content_block_start') blocks[index] = { ...content_block };
    if (delta?.type === 'thinking_delta') blocks[index].thinking += delta.thinking;
  }
  return blocks;
}

it('thinking of a messages caller goes back to the upstream that made it', async () => {
  const first = await ask(messages, streamed(`${begun}data: [DONE]\n\n`));
  const content = blocksOf(payloadsOf(first));
  expect(content).toEqual([
    { type: 'thinking', thinking: 'Look first.', signature: '' },
    { type: 'tool_use', id: 'c', name: 'f', input: {} },
  ]);
  const done = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done' }, finish_reason: 'stop' }],
  };
  const second = await ask(messages, whole(done), {
    stream: false,
    body: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] },
      ],
    },
  });
  expect(second.upstream?.body['messages']).toEqual([
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      reasoning_content: 'Look first.',
    },
    { role: 'tool', tool_call_id: 'c', content: 'x' },
  ]);
});
