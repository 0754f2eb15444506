import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ChatObserver, maxCallChars, observeCompletion } from '../../../domain/chat/observe-chat.ts';
import { type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { maxCountedToolCalls } from '../../../domain/shared/limits.ts';
import { nothingObserved } from '../../../domain/upstream/observation.ts';
import { aJsonObject } from '../../support/arbitraries/json-text.ts';

const observedStream = (chunks: readonly JsonObject[]) => {
  const observer = new ChatObserver();
  for (const chunk of chunks) observer.see(chunk);
  return observer.observed();
};

const usage = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
});
const tokens = (prompt: number, completion: number) => ({
  promptTokens: prompt,
  completionTokens: completion,
  totalTokens: prompt + completion,
});

describe('usage of an answer', () => {
  it.each<[string, JsonObject, object | undefined, boolean]>([
    ['top-level usage', { usage: usage(3, 5) }, tokens(3, 5), false],
    ['no usage', {}, undefined, false],
    ['usage of null', { usage: null }, undefined, false],
    ['usage in x_groq alone', { x_groq: { usage: usage(3, 5) } }, tokens(3, 5), false],
    ['usage of null, and x_groq', { usage: null, x_groq: { usage: usage(3, 5) } }, tokens(3, 5), false],
    [
      'both: the top level is used',
      { usage: usage(1, 2), x_groq: { usage: usage(3, 5) } },
      tokens(1, 2),
      false,
    ],
    ['x_groq without usage', { x_groq: { id: 'r1' } }, undefined, false],
    ['x_groq that is no object', { x_groq: 'r1' }, undefined, false],
    ['usage without counts', { usage: {} }, undefined, true],
    ['usage that is no object', { usage: 7 }, undefined, true],
    ['a negative count', { usage: usage(-1, 5) }, undefined, true],
    ['half of the counts', { usage: { prompt_tokens: 3 } }, undefined, true],
  ])('%s', (_, answer, expected, unusable) => {
    expect(observeCompletion(answer)).toMatchObject({ usage: expected, usageUnusable: unusable });
    expect(observedStream([{}, answer, {}])).toMatchObject({ usage: expected, usageUnusable: unusable });
  });

  it.each<[string, readonly JsonObject[], object | undefined, boolean]>([
    ['on the last chunk', [{}, { usage: usage(3, 5) }], tokens(3, 5), false],
    ['on the first chunk', [{ usage: usage(3, 5) }, {}], tokens(3, 5), false],
    ['twice the same', [{ usage: usage(3, 5) }, { usage: usage(3, 5) }], tokens(3, 5), false],
    [
      'growing',
      [{ usage: usage(3, 1) }, { usage: usage(3, 2) }, { usage: usage(3, 5) }],
      tokens(3, 5),
      false,
    ],
    ['then null', [{ usage: usage(3, 5) }, { usage: null }], tokens(3, 5), false],
    ['then unusable', [{ usage: usage(3, 5) }, { usage: { prompt_tokens: -1 } }], tokens(3, 5), false],
    ['then empty', [{ usage: usage(3, 5) }, { usage: {} }], tokens(3, 5), false],
    ['unusable, then usable', [{ usage: {} }, { usage: usage(3, 5) }], tokens(3, 5), false],
  ])('of a stream is the last usable report: %s', (_, chunks, expected, unusable) => {
    expect(observedStream(chunks)).toMatchObject({ usage: expected, usageUnusable: unusable });
  });

  it('is always the last report, never a sum', () => {
    const count = fc.nat({ max: 1000 });
    fc.assert(
      fc.property(fc.array(fc.option(fc.tuple(count, count)), { minLength: 1 }), (reports) => {
        const chunks = reports.map((each) => (each === null ? { usage: null } : { usage: usage(...each) }));
        const last = reports.findLast((each) => each !== null);
        expect(observedStream(chunks).usage).toEqual(last == null ? undefined : tokens(...last));
      }),
    );
  });

  it('is undefined before the first chunk', () => {
    expect(observedStream([])).toEqual(nothingObserved);
    expect(nothingObserved).toEqual({ usage: undefined, usageUnusable: false, invokedToolCount: 0 });
  });

  it('is read from numbers in any notation', () => {
    const chunk = parseExact('{"usage":{"prompt_tokens":12.0,"completion_tokens":1E1,"total_tokens":22.00}}');
    expect(observedStream([chunk as JsonObject]).usage).toEqual(tokens(12, 10));
  });
});

describe('invoked_tool_count of a whole answer counts tool-call artifacts', () => {
  it.each<[string, readonly JsonObject[], number]>([
    ['none', [{ message: { content: 'a' } }], 0],
    ['an empty list', [{ message: { tool_calls: [] } }], 0],
    ['a list of null', [{ message: { tool_calls: null } }], 0],
    ['one', [{ message: { tool_calls: [{ id: 'a' }] } }], 1],
    ['two at once', [{ message: { tool_calls: [{ id: 'a' }, { id: 'b' }] } }], 2],
    [
      'in several choices',
      [{ message: { tool_calls: [{ id: 'a' }] } }, { message: { tool_calls: [{ id: 'a' }] } }],
      2,
    ],
    ['a legacy call', [{ message: { function_call: { name: 'f', arguments: '{}' } } }], 1],
    ['a legacy call with a name alone', [{ message: { function_call: { name: 'f', arguments: '' } } }], 1],
    ['a legacy call with arguments alone', [{ message: { function_call: { arguments: '{}' } } }], 1],
    ['a legacy call that is empty', [{ message: { function_call: { name: '', arguments: '' } } }], 0],
    [
      'a legacy copy of a call',
      [{ message: { tool_calls: [{ id: 'a' }], function_call: { name: 'f' } } }],
      1,
    ],
    ['a legacy call of null', [{ message: { function_call: null } }], 0],
    ['elements that are not calls', [{ message: { tool_calls: ['a', null, 1] } }], 0],
    ['a choice without a message', [{ text: 'a' }], 0],
  ])('%s', (_, choices, count) => {
    expect(observeCompletion({ choices })).toMatchObject({ invokedToolCount: count });
  });
});

describe('invoked_tool_count of a stream is incremented while frames are parsed', () => {
  const piece = (call: JsonObject, index = 0): JsonObject => ({
    choices: [{ index, delta: { tool_calls: [call] } }],
  });
  const unnumbered = (call: JsonObject): JsonObject => ({ choices: [{ delta: { tool_calls: [call] } }] });

  it.each<[string, readonly JsonObject[], number]>([
    ['no calls', [{ choices: [{ delta: { content: 'a' } }] }], 0],
    ['one call in pieces', [piece({ index: 0, id: 'a' }), piece({ index: 0 }), piece({ index: 0 })], 1],
    [
      'two calls in pieces',
      [piece({ index: 0, id: 'a' }), piece({ index: 1, id: 'b' }), piece({ index: 0 }), piece({ index: 1 })],
      2,
    ],
    ['two calls in one frame', [{ choices: [{ delta: { tool_calls: [{ index: 0 }, { index: 1 }] } }] }], 2],
    [
      'parallel calls that all have the same index',
      [
        piece({ index: 0, id: 'a', function: { name: 'f' } }),
        piece({ index: 0, id: 'b', function: { name: 'f' } }),
        piece({ index: 0, function: { arguments: '{' } }),
        piece({ index: 0, id: 'b', function: { name: 'f', arguments: '}' } }),
      ],
      2,
    ],
    [
      'parallel calls that all have the same index, and numbers as their ids',
      [
        piece({ index: 0, id: 1, function: { name: 'f' } }),
        piece({ index: 0, function: { arguments: '{}' } }),
        piece({ index: 0, id: 2, function: { name: 'f' } }),
      ],
      2,
    ],
    [
      'another call at the index of one that came in pieces',
      [
        piece({ index: 0, id: 'a', function: { name: 'f' } }),
        piece({ index: 0, function: { arguments: '{}' } }),
        piece({ index: 0, id: 'b', function: { name: 'f' } }),
      ],
      2,
    ],
    [
      'whole calls that all have the same index, and no id',
      [
        piece({ index: 0, id: '', function: { name: 'f', arguments: '{"a":1}' } }),
        piece({ index: 0, id: '', function: { name: 'f', arguments: '{"a":1}' } }),
        piece({ index: 0, function: { name: 'g', arguments: '{}' } }),
      ],
      3,
    ],
    [
      'a call without an id that repeats its name in each piece',
      [
        piece({ index: 0, function: { name: 'f', arguments: '' } }),
        piece({ index: 0, function: { name: 'f', arguments: '{"a":' } }),
        piece({ index: 0, function: { name: 'f', arguments: '1}' } }),
      ],
      1,
    ],
    [
      'a call that repeats its name without its id',
      [
        piece({ index: 0, id: 'a', function: { name: 'f' } }),
        piece({ index: 0, function: { name: 'f', arguments: '{}' } }),
      ],
      1,
    ],
    [
      'a call with a different id in each piece',
      [
        piece({ index: 0, id: 'a', function: { name: 'f' } }),
        piece({ index: 0, id: 'b', function: { name: '' } }),
      ],
      1,
    ],
    ['the same index in two choices', [piece({ index: 0 }, 0), piece({ index: 0 }, 1)], 2],
    ['a choice without an index is the first', [piece({ index: 0 }, 0), unnumbered({ index: 0 })], 1],
    [
      'whole calls that differ by their ids',
      ['a', 'b', 'a'].map((id) => piece({ id, function: { name: 'f' } })),
      2,
    ],
    [
      'whole calls that all have the same id, and no index',
      ['f', 'g'].map((name) => piece({ id: 'a', function: { name, arguments: '{}' } })),
      2,
    ],
    [
      'another call at the index of one that came in pieces, both without an id',
      [
        piece({ index: 0, function: { name: 'f', arguments: '{"a":' } }),
        piece({ index: 0, function: { arguments: '1}' } }),
        piece({ index: 0, function: { name: 'f', arguments: '{"a":2}' } }),
      ],
      2,
    ],
    [
      'a call in pieces that is then sent again as a whole',
      [
        piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":' } }),
        piece({ index: 0, function: { arguments: '1}' } }),
        piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{"a": 1}' } }),
      ],
      1,
    ],
    [
      'whole calls without an index or an id',
      [
        piece({ function: { name: 'f' } }),
        piece({ function: { name: 'f' } }),
        piece({ id: '', function: { name: 'f' } }),
      ],
      3,
    ],
    [
      'calls in pieces that have neither an index nor an id',
      [
        piece({ function: { name: 'f', arguments: '{' } }),
        piece({ function: { arguments: '"a":1' } }),
        piece({ id: '', function: { name: '', arguments: '}' } }),
        piece({ function: { name: 'g', arguments: '{}' } }),
      ],
      2,
    ],
    [
      'whole messages in one chunk',
      [
        {
          choices: [0, 1].map((index) => ({
            index,
            message: { tool_calls: ['a', 'b'].map((id) => ({ id, function: { name: 'f' } })) },
          })),
        },
      ],
      4,
    ],
    [
      'a whole message after its deltas',
      [piece({ index: 0, id: 'a' }), { choices: [{ message: { tool_calls: [{ id: 'a' }] } }] }],
      1,
    ],
    ['a call without a name', [piece({ function: { arguments: '{}' } })], 1],
    [
      'a legacy call in pieces',
      [
        { choices: [{ delta: { function_call: { name: 'f', arguments: '' } } }] },
        { choices: [{ delta: { function_call: { arguments: '{}' } } }] },
      ],
      1,
    ],
    [
      'a call that the legacy field repeats',
      ['{', '}'].map((text) => ({
        choices: [
          {
            delta: {
              tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: text } }],
              function_call: { name: 'f', arguments: text },
            },
          },
        ],
      })),
      1,
    ],
    [
      'a legacy call that is empty',
      [{ choices: [{ delta: { function_call: { name: '', arguments: '' } } }] }],
      0,
    ],
    [
      'elements that are not calls',
      [{ choices: [{ delta: { tool_calls: ['a', null] } }] }, { choices: 'x' }, { choices: [null] }, {}],
      0,
    ],
  ])('%s', (_, chunks, count) => {
    expect(observedStream(chunks).invokedToolCount).toBe(count);
  });

  it('identifies a call by its index in any notation', () => {
    const chunks = [
      '{"choices":[{"index":0.0,"delta":{"tool_calls":[{"index":1.0}]}}]}',
      '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1}]}}]}',
    ];
    expect(observedStream(chunks.map((text) => parseExact(text) as JsonObject)).invokedToolCount).toBe(1);
  });

  it(`counts at most ${maxCountedToolCalls} calls`, () => {
    const many = Array.from({ length: maxCountedToolCalls + 100 }, (_, index) => piece({ index }));
    expect(observedStream(many).invokedToolCount).toBe(maxCountedToolCalls);
  });

  it(`counts no call that begins after ${maxCallChars} characters of calls`, () => {
    const call = (index: number, chars: number): JsonObject =>
      piece({ index, function: { name: 'f', arguments: 'x'.repeat(chars) } });
    for (const [chars, count] of [
      [maxCallChars - 1, 2],
      [maxCallChars, 1],
    ] as const)
      expect(observedStream([call(0, chars), call(1, 1)]).invokedToolCount).toBe(count);
  });

  it('never throws, for any chunk', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            aJsonObject,
            aJsonObject.map((delta) => ({ choices: [{ delta }] })),
          ),
        ),
        (chunks) => {
          observedStream(chunks);
        },
      ),
    );
  });
});
