import { expect, it } from '@jest/globals';
import type Anthropic from '@anthropic-ai/sdk';
import { claude, google, platformAScene } from './platform-a-scene.ts';
import { anthropicClient, describeMessages } from './platform-anthropic.ts';
import { hello, toolInput, toolParameters } from './scenario.ts';

const { scenario } = platformAScene();

const user = [{ role: 'user' as const, content: hello }];

describeMessages(scenario, google);
describeMessages(scenario, claude);

it('a conversation with tool calls can move between publishers and back', async () => {
  const tools = [{ name: 'weather', input_schema: toolParameters }];
  const { messages } = anthropicClient(scenario);
  let said: Anthropic.MessageParam[] = [...user];
  for (const id of ['google', 'claude', 'newest', 'google']) {
    const body = { model: `${id}-tools`, max_tokens: 4000, tools };
    const asked = await messages.create({ ...body, messages: said });
    const call = asked.content.find((block) => block.type === 'tool_use')!;
    expect(call.input).toEqual(toolInput);
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'Rain.' };
    said = [...said, { role: 'assistant', content: asked.content }, { role: 'user', content: [result] }];
    const answered = await messages.create({ ...body, messages: said });
    said = [...said, { role: 'assistant', content: answered.content }, ...user];
  }
  expect(said).toHaveLength(17);
});

it('no token or key is stored in any table or log line', () => scenario.expectNoSecretKept());
