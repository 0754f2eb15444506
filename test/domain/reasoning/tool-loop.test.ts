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
const redacted = { type: 'redacted_thinking', data: 'a' };
const call = assistant(use);

describe('a tool loop whose assistant turn holds no signed thinking', () => {
  it.each<readonly [string, boolean, readonly JsonObject[]]>([
    ['no messages', false, []],
    ['the user speaks', false, [words]],
    ['the user speaks again', false, [words, assistant({ type: 'text', text: 'a' }), words]],
    ['the user speaks after a loop', false, [words, call, result, assistant(), words]],
    ['a call without its result', false, [words, call]],
    ['a result alone', false, [result]],
    ['a call and its result', true, [words, call, result]],
    ['its thinking is unsigned', true, [words, assistant(unsigned, use), result]],
    ['its thinking is signed', false, [words, assistant(signed, use), result]],
    ['its thinking is redacted', false, [words, assistant(redacted, use), result]],
    [
      'the model thought before its first call alone',
      false,
      [words, assistant(signed, use), result, call, result],
    ],
    ['it thought in the turn before', true, [words, assistant(signed), words, call, result]],
    [
      'it thought in the loop before',
      true,
      [words, assistant(signed, use), result, assistant(), words, call, result],
    ],
    ['words follow the result in the same turn', true, [words, call, result, words]],
    ['words stand before the result', true, [words, call, words, result]],
    ['the answer comes in two messages', false, [words, assistant(signed), call, result]],
    ['the system speaks in between', true, [words, call, { role: 'system', content: 'a' }, result]],
    ['content is text', false, [words, { role: 'assistant', content: 'a' }, { role: 'user', content: 'b' }]],
  ])('%s: %p', (_, expected, messages) => {
    expect(isLoopWithoutThinking(messages)).toBe(expected);
  });

  it('never reaches beyond what the user said last, and never is one with signed thinking in it', () => {
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
