import { describe, expect, it } from '@jest/globals';
import { chatOf, hello, text } from './told-in-chat.ts';

const line = 'x-anthropic-billing-header: cc_version=2.1.329.136; cc_entrypoint=cli; cch=eb6c6;';

describe('the system prompt in chat', () => {
  it.each<[string, unknown, readonly object[]]>([
    ['as a block of its own', [text(line), text('Be kind.')], [{ role: 'system', content: 'Be kind.' }]],
    ['as the only block', [text(line)], []],
    ['as the first line of a text', `${line}\nBe kind.`, [{ role: 'system', content: 'Be kind.' }]],
  ])('the line that tells the version of Claude Code is not sent: %s', (_, system, messages) => {
    expect(chatOf({ system })['messages']).toEqual([...messages, ...hello]);
  });

  it('the line stays where it is only mentioned', () => {
    const mention = `Remove this line:\n${line}`;
    expect(chatOf({ system: mention })['messages']).toEqual([{ role: 'system', content: mention }, ...hello]);
  });
});
