import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../domain/shared/json.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { writtenChat } from '../support/written-chat.ts';

/** The route to Mistral that the documentation shows. */
function documentedRoute() {
  const page = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');
  const file = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
  const loaded = parseConfig(file.find((text) => text.includes('api.mistral.ai')) ?? '', {
    MISTRAL_API_KEY: 'm',
  });
  if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
  return loaded.right.config.models[0]!.routes[0]!;
}

/** Mistral’s API refuses fields that it does not know (https://docs.mistral.ai/api). */
const knownFields = [
  'model',
  'messages',
  'tools',
  'tool_choice',
  'max_tokens',
  'stop',
  'stream',
  'temperature',
];
const knownOfMessages = ['role', 'content', 'tool_calls', 'tool_call_id'];

it('a session of Claude Code that changes to Mistral has nothing that its API refuses', () => {
  const chat = writtenChat(
    {
      model: 'm',
      max_tokens: 32_000,
      stream: true,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: '{}' },
      thinking: { type: 'adaptive' },
      stop_sequences: ['X'],
      temperature: 1,
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      tool_choice: { type: 'auto' },
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: 'A reminder.' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 's' },
            { type: 'tool_use', id: 'toolu_01A09q90qw90lq917835lq9', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_01A09q90qw90lq917835lq9', content: 'x' },
            { type: 'text', text: 'Another.' },
          ],
        },
      ],
    },
    documentedRoute(),
  );
  const messages = chat['messages'] as readonly JsonObject[];
  expect(Object.keys(chat).filter((field) => !knownFields.includes(field))).toEqual([]);
  expect(messages.flatMap(Object.keys).filter((field) => !knownOfMessages.includes(field))).toEqual([]);
  expect(messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ]);
  expect(messages[2]).toMatchObject({ tool_calls: [{ id: '000000001' }] });
  expect(messages[3]).toMatchObject({ tool_call_id: '000000001' });
});
