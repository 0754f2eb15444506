import { describe, expect, it } from '@jest/globals';
import { maxEventLoopBodyBytes } from '../../domain/shared/limits.ts';
import { onPlatformA, onPlatformB, platformRehearsal } from '../recordings/platforms.ts';
import type { Answer, RehearsedFamily } from '../recordings/rehearsal.ts';

const name = 'anthropic.claude-sonnet-4-20250514-v1:0';
const models = [
  { id: 'a', ...onPlatformA('anthropic/claude-sonnet-4-20250514', ['rawPredict', 'streamRawPredict']) },
  { id: 'runtime_messages', ...onPlatformB('runtime_messages', name) },
  { id: 'endpointb_messages', ...onPlatformB('endpointb_messages', name) },
  { id: 'runtime_unified', ...onPlatformB('runtime_unified', name) },
];
const { ask } = platformRehearsal(models);

const usage = { input_tokens: 1, output_tokens: 1 };
const answers = {
  messages: { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', usage },
  converse: {
    output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  },
};

const thinking = { type: 'enabled', budget_tokens: 2048 };

/** A tool loop of each family, without the thinking before the call, and with this tool result. */
const loops = {
  chat_completions: (result: string): object => ({
    thinking,
    max_tokens: 4096,
    tools: [{ type: 'function', function: { name: 'f' } }],
    messages: [
      { role: 'user', content: 'Do.' },
      {
        role: 'assistant',
        tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '' } }],
      },
      { role: 'tool', tool_call_id: '1', content: result },
    ],
  }),
  messages: (result: string): object => ({
    thinking,
    max_tokens: 4096,
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: 'Do.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: result }] },
    ],
  }),
} as const;

const request = (model: string, family: RehearsedFamily, body: object): Promise<Answer> =>
  ask(
    {
      body: JSON.stringify(answers[model === 'runtime_unified' ? 'converse' : 'messages']),
      headers: { 'content-type': 'application/json' },
    },
    { model, stream: false, family, more: JSON.stringify(body).slice(1, -1) },
  );

describe.each(models.map(({ id }) => [id]))('manual thinking without its signed thinking, on %s', (model) => {
  it.each([
    ['chat_completions', 'small', 'done'],
    ['chat_completions', 'large', 'd'.repeat(maxEventLoopBodyBytes)],
    ['messages', 'small', 'done'],
    ['messages', 'large', 'd'.repeat(maxEventLoopBodyBytes)],
  ] as const)('is omitted from one call of %s, and the log row records it: %s', async (family, _, result) => {
    const answer = await request(model, family, loops[family](result));
    expect(answer.status).toBe(200);
    expect(
      answer.upstream!.body['thinking'] ?? answer.upstream!.body['additionalModelRequestFields'],
    ).toBeUndefined();
    const metadata = {
      operation: family,
      reasoning: { thinking: 'left_out', reason: 'no_signed_thinking_in_tool_loop' },
    };
    expect(answer.after.logs).toMatchObject([{ metadata_json: metadata }]);
  });

  it('is sent in the next call without a tool loop', async () => {
    const { thinking: asked, max_tokens } = loops.messages('') as Record<string, unknown>;
    const answer = await request(model, 'messages', { thinking: asked, max_tokens });
    expect(answer.status).toBe(200);
    const fields = { additionalModelRequestFields: { thinking } };
    expect(answer.upstream!.body).toMatchObject(model === 'runtime_unified' ? fields : { thinking });
    expect(answer.after.logs[0]!['metadata_json']).not.toHaveProperty('reasoning');
  });
});
