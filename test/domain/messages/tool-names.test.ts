import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { fromChatCompletion } from '../../../domain/messages/from-chat.ts';
import { messagesStream } from '../../../domain/messages/messages-stream.ts';
import { chatToolName, shortenedNames } from '../../../domain/messages/tool-names.ts';
import { seal } from '../../../domain/shared/stream-machine.ts';
import { outputsOf } from '../../support/machine-laws.ts';
import { called, done, piece, saidIn, toldOf } from './messages-stream-told.ts';
import { chatOf, user } from './told-in-chat.ts';

const name = `mcp__plugin_${'server_'.repeat(12)}__tool`;
const short = chatToolName(name);

describe('a name of a tool', () => {
  it('is sent unchanged if chat APIs take its length, and otherwise has 64 characters and its own beginning', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 128, size: 'max' }), (any) => {
        const sent = chatToolName(any);
        expect(sent.length).toBe(Math.min(any.length, 64));
        expect(any.startsWith(any.length > 64 ? sent.slice(0, 55) : sent)).toBe(true);
      }),
    );
  });

  it('that is too long is different from others with the same beginning', () => {
    const names = Array.from({ length: 2000 }, (_, index) => chatToolName(`${'a'.repeat(70)}${index}`));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a name of a tool that is too long for chat', () => {
  const tools = [{ name, input_schema: { type: 'object' } }];

  it('is known again if the tool is defined between the turns', () => {
    const definition = { type: 'tool_definition', definition: tools[0] };
    const change = { role: 'system', content: [{ type: 'tool_addition', tool: definition }] };
    const body = { messages: [{ role: 'user', content: 'Hi' }, change] };
    expect(chatOf(body)).toMatchObject({ tools: [{ function: { name: short } }] });
    expect(shortenedNames(body)).toEqual(new Map([[short, name]]));
  });

  it('is shortened in the tools, the choice, earlier calls and references', () => {
    const call = { type: 'tool_use', id: 'a', name, input: {} };
    const reference = { type: 'tool_reference', tool_name: name };
    const result = { type: 'tool_result', tool_use_id: 'a', content: [reference] };
    const messages = [{ role: 'assistant', content: [call] }, ...user(result).messages];
    const chat = chatOf({ tools, tool_choice: { type: 'tool', name }, messages });
    expect(chat).toMatchObject({
      tools: [{ function: { name: short } }],
      tool_choice: { function: { name: short } },
      messages: [
        { tool_calls: [{ function: { name: short } }] },
        { role: 'tool', content: `The tool ${short} is available.` },
      ],
    });
  });

  it.each([
    ['the caller’s in the answer, whole and streamed', tools, name],
    ['that of the upstream if the caller has no such tool', [], short],
  ])('in an answer is %s', (_, offered, expected) => {
    const about = {
      id: 'msg_1',
      model: 'm',
      calls: { ids: [], toolNames: shortenedNames({ tools: offered }) },
    };
    const call = piece(0, '{}', { id: 'a' }, short);
    const whole = fromChatCompletion({ choices: [{ message: { tool_calls: [call] } }] }, about);
    expect(whole).toMatchObject(E.right({ content: [{ name: expected }] }));
    const streamed = outputsOf(seal(messagesStream(about)), [called(call), done]);
    expect(saidIn(toldOf(streamed)).calls.map(({ name: told }) => told)).toEqual([expected]);
  });
});
