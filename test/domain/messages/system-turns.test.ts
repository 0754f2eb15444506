import { describe, expect, it } from '@jest/globals';
import { effortPath, withPlainSystemTurns } from '../../../domain/messages/system-turns.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const user: JsonObject = { role: 'user', content: 'Hi' };
const answer: JsonObject = { role: 'assistant', content: 'Hello' };
const results: JsonObject = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't' }] };
const says = (content: string, more: JsonObject = {}): JsonObject => ({ role: 'system', content, ...more });
const sets = (effort: string): JsonObject => ({ role: 'system', output_config: { effort } });

describe('the effort that system messages set', () => {
  it.each<[string, readonly JsonObject[], string | undefined, string | undefined]>([
    ['right behind new input it is that of the answer to it', [user, sets('low')], 'low', 'messages[1]'],
    ['elsewhere of the answer to the next', [user, answer, sets('low'), user], 'low', 'messages[2]'],
    ['which results of tools are not', [user, answer, sets('low'), results], 'high', undefined],
    ['nor an answer that is asked for behind it', [user, answer, sets('low')], 'high', undefined],
    ['it holds until a later one', [user, sets('low'), answer, sets('max'), user], 'max', 'messages[3]'],
    ['and beyond those that set none', [user, sets('low'), says('Be kind.')], 'low', 'messages[1]'],
    ['nobody sets one', [user, { role: 'system', output_config: {} }], 'high', undefined],
  ])('%s', (_, messages, effort, place) => {
    const body = { messages, output_config: { effort: 'high', format: null } };
    expect(withPlainSystemTurns(body)['output_config']).toEqual({ effort, format: null });
    expect(effortPath(body)).toBe(`${place === undefined ? '' : `${place}.`}output_config.effort`);
  });

  it('is the body\u2019s own where that has none', () => {
    const plain = withPlainSystemTurns({ messages: [user, sets('low')] });
    expect(plain).toEqual({
      messages: [user, { role: 'system', content: '' }],
      output_config: { effort: 'low' },
    });
    expect(effortPath({ messages: [user] })).toBeUndefined();
  });
});

describe('the words of system messages', () => {
  it('are gone once they are no longer shown, and no message moves', () => {
    const once = says('Only now.', { clear_at: 'next_user_message' });
    const messages = [user, once, answer, user, once, says('Always.', { clear_at: 'never' })];
    expect(withPlainSystemTurns({ messages })).toEqual({
      messages: [user, says(''), answer, user, says('Only now.'), says('Always.')],
    });
  });

  it('stay the very same where they say nothing else', () => {
    const body = { messages: [user, says('Always.')] };
    expect(withPlainSystemTurns(body)).toBe(body);
  });
});
