import { describe, expect, it } from '@jest/globals';
import {
  effortPath,
  withPlainSystemTurns,
  withSystemReminders,
} from '../../../domain/messages/system-turns.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const user: JsonObject = { role: 'user', content: 'Hi' };
const answer: JsonObject = { role: 'assistant', content: 'Hello' };
const results: JsonObject = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't' }] };
const says = (content: string, more: JsonObject = {}): JsonObject => ({ role: 'system', content, ...more });
const sets = (effort: string): JsonObject => ({ role: 'system', output_config: { effort } });

describe('the effort set by system messages', () => {
  it.each<[string, readonly JsonObject[], string | undefined, string | undefined]>([
    [
      'applies to the answer to the user message directly before it',
      [user, sets('low')],
      'low',
      'messages[1]',
    ],
    [
      'applies from the next user message on if it stands elsewhere',
      [user, answer, sets('low'), user],
      'low',
      'messages[2]',
    ],
    ['does not apply if only tool results follow', [user, answer, sets('low'), results], 'high', undefined],
    ['does not apply if no user message follows', [user, answer, sets('low')], 'high', undefined],
    ['is replaced by a later one', [user, sets('low'), answer, sets('max'), user], 'max', 'messages[3]'],
    [
      'is kept by later system messages that set none',
      [user, sets('low'), says('Be kind.')],
      'low',
      'messages[1]',
    ],
    [
      'is that of the body if no message sets one',
      [user, { role: 'system', output_config: {} }],
      'high',
      undefined,
    ],
  ])('%s', (_, messages, effort, place) => {
    const body = { messages, output_config: { effort: 'high', format: null } };
    expect(withPlainSystemTurns(body)['output_config']).toEqual({ effort, format: null });
    expect(effortPath(body)).toBe(`${place === undefined ? '' : `${place}.`}output_config.effort`);
  });

  it('becomes `output_config` if the body has none', () => {
    const plain = withPlainSystemTurns({ messages: [user, sets('low')] });
    expect(plain).toEqual({
      messages: [user, { role: 'system', content: '' }],
      output_config: { effort: 'low' },
    });
    expect(effortPath({ messages: [user] })).toBeUndefined();
  });
});

describe('the text of system messages', () => {
  it('is emptied after its `clear_at`, and no message moves', () => {
    const once = says('Only now.', { clear_at: 'next_user_message' });
    const messages = [user, once, answer, user, once, says('Always.', { clear_at: 'never' })];
    expect(withPlainSystemTurns({ messages })).toEqual({
      messages: [user, says(''), answer, user, says('Only now.'), says('Always.')],
    });
  });

  it('is returned in the same body object if nothing has to change', () => {
    const body = { messages: [user, says('Always.')] };
    expect(withPlainSystemTurns(body)).toBe(body);
  });
});

describe('system messages for a model that takes a system prompt at the front only', () => {
  const call: JsonObject = { role: 'assistant', content: [{ type: 'tool_use', id: 't' }] };
  const reminder = (text: string): JsonObject => ({
    role: 'user',
    content: [{ type: 'text', text: `<system-reminder>\n${text}\n</system-reminder>` }],
  });

  it('between the turns stay there as reminders, so that what was sent before begins what is sent next', () => {
    const before = [user, says('One.'), answer, user];
    const [earlier, later] = [before, [...before, says('Two.'), answer]].map((messages) =>
      withSystemReminders({ system: 'S', messages }),
    );
    expect(earlier).toEqual({ system: 'S', messages: [user, reminder('One.'), answer, user] });
    expect(later).toEqual({
      system: 'S',
      messages: [user, reminder('One.'), answer, user, reminder('Two.'), answer],
    });
  });

  it('between a call and its results follow the results', () => {
    const messages = [user, call, says('One.'), results, says('')];
    expect(withSystemReminders({ messages })['messages']).toEqual([user, call, results, reminder('One.')]);
    expect(withSystemReminders({ messages: messages.slice(0, 3) })['messages']).toEqual([
      user,
      call,
      reminder('One.'),
    ]);
  });

  it('that are reminders already are sent as written', () => {
    const text = '<system-reminder>Be brief.</system-reminder>';
    expect(withSystemReminders({ messages: [user, says(text)] })['messages']).toEqual([
      user,
      { role: 'user', content: [{ type: 'text', text }] },
    ]);
  });

  it('may have 200,000 texts', () => {
    const content = Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'a' }));
    expect(withSystemReminders({ messages: [user, { role: 'system', content }] })).toMatchObject({
      messages: [user, { content: { length: 200_000 } }],
    });
  });

  it('before the first turn join the prompt', () => {
    expect(withSystemReminders({ messages: [says('One.'), says('Two.')] })).toEqual({
      system: [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
      ],
      messages: [],
    });
  });
});
