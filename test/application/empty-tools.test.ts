import { describe, expect, it } from '@jest/globals';
import { writtenChat } from '../support/written-chat.ts';

const user = { role: 'user', content: 'Hi' };
const history = [
  user,
  { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
];
const written = (body: object, rule: string) =>
  writtenChat({ model: 'm', max_tokens: 9, ...body }, { compatibility: { compat: { empty_tools: rule } } });

describe('an empty list of tools in a messages call for a chat upstream', () => {
  const choice = { tool_choice: { type: 'none' } };

  it('is kept with its choice by preserve_with_tool_history if the conversation has calls', () => {
    const body = { messages: history, tools: [], ...choice };
    expect(written(body, 'preserve_with_tool_history')).toMatchObject({ tools: [], tool_choice: 'none' });
  });

  it.each([
    [
      'preserve_with_tool_history',
      'the conversation has no calls',
      { messages: [user], tools: [], ...choice },
    ],
    ['preserve_with_tool_history', 'the call has no list', { messages: history, ...choice }],
    ['preserve', 'it is the default', { messages: history, tools: [], ...choice }],
    ['omit', 'it says so', { messages: history, tools: [], ...choice }],
  ])('is not sent with %s where %s', (rule, _, body) => {
    const chat = written(body, rule);
    expect(chat).not.toHaveProperty('tools');
    expect(chat).not.toHaveProperty('tool_choice');
  });
});
