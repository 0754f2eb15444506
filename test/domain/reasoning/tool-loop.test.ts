import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isLoopWithoutThinking } from '../../../domain/reasoning/tool-loop.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const words = { role: 'user', content: 'Hi' };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: 'a' }] };
const assistant = (...content: readonly JsonObject[]): JsonObject => ({ role: 'assistant', content });
const use = { type: 'tool_use', id: '1', name: 'f', input: {} };
const signed = { type: 'thinking', thinking: 'a', signature: 's' };
const unsigned = { type: 'thinking', thinking: 'a', signature: '' };
const unfinished = { type: 'thinking', thinking: 'a' };
const redacted = { type: 'redacted_thinking', data: 'a' };
const call = assistant(use);

describe('a tool loop without signed thinking', () => {
  it.each<readonly [string, boolean, readonly JsonObject[]]>([
    ['no messages', false, []],
    ['a user message', false, [words]],
    ['a second user message', false, [words, assistant({ type: 'text', text: 'a' }), words]],
    ['a user message after a loop', false, [words, call, result, assistant(), words]],
    ['a call without its result', false, [words, call]],
    ['only a result', false, [result]],
    ['a call and its result', true, [words, call, result]],
    ['a call with unsigned thinking', true, [words, assistant(unsigned, use), result]],
    ['a call with signed thinking', false, [words, assistant(signed, use), result]],
    ['a call with redacted thinking', false, [words, assistant(redacted, use), result]],
    [
      'signed thinking only before the first call',
      false,
      [words, assistant(signed, use), result, call, result],
    ],
    ['signed thinking only in the previous turn', true, [words, assistant(signed), words, call, result]],
    [
      'signed thinking only in the previous loop',
      true,
      [words, assistant(signed, use), result, assistant(), words, call, result],
    ],
    ['text after the result in the same turn', true, [words, call, result, words]],
    ['text before the result', true, [words, call, words, result]],
    ['thinking and call in two messages', false, [words, assistant(signed), call, result]],
    ['a system message in between', true, [words, call, { role: 'system', content: 'a' }, result]],
    ['a system message after the result', true, [words, call, result, { role: 'system', content: 'a' }]],
    ['a call with thinking that has no signature', true, [words, assistant(unfinished, use), result]],
    ['content is text', false, [words, { role: 'assistant', content: 'a' }, { role: 'user', content: 'b' }]],
  ])('%s: %p', (_, expected, messages) => {
    expect(isLoopWithoutThinking(messages)).toBe(expected);
  });

  it('begins after the last message of the user, and is none if it has signed thinking', () => {
    const aMessage = fc.constantFrom<JsonObject>(
      words,
      result,
      call,
      assistant(unsigned, use),
      assistant(signed, use),
    );
    const before = fc.array(aMessage, { maxLength: 6 });
    const loop = fc.array(fc.constantFrom<JsonObject>(call, assistant(unsigned, use)), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(before, loop, fc.nat(3), (earlier, calls, place) => {
        const turns = calls.flatMap((each) => [each, result]);
        const said = [...earlier, assistant(), words, ...turns];
        expect(isLoopWithoutThinking(said)).toBe(true);
        const thought = turns.map((each, n) =>
          n === 2 * (place % calls.length) ? assistant(signed, use) : each,
        );
        expect(isLoopWithoutThinking([...earlier, assistant(), words, ...thought])).toBe(false);
        expect(isLoopWithoutThinking([...said, assistant(), words])).toBe(false);
      }),
    );
  });
});
