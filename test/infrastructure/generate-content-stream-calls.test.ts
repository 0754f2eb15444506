import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../domain/shared/json.ts';
import { maxJsonDepth, maxTranslatedToolCalls } from '../../domain/shared/limits.ts';
import { generatedCompletion } from '../../infrastructure/providers/cloud-a/generate-content-response.ts';
import { CandidateCalls } from '../../infrastructure/providers/cloud-a/generate-content-calls.ts';
import { costOf, times } from '../support/growth/growth.ts';
import {
  about,
  call,
  delta,
  done,
  type Event,
  failure,
  finish,
  finished,
  lastOf,
  mebibyte,
  parts,
  reasonsOf,
  sanitise,
  stream,
  text,
  textOf,
} from './generate-content-told.ts';

describe('calls', () => {
  it('STOP in a later chunk becomes `tool_calls` if calls came before it', () => {
    const events = [
      text('Look.'),
      call('f', { a: 1 }),
      call('g'),
      { ...finish('STOP'), ...parts({ text: '' }) },
      finish('STOP'),
    ];
    expect(stream(events)).toEqual([
      delta({ role: 'assistant', content: 'Look.' }),
      delta({
        tool_calls: [
          { index: 0, id: 'call_7f3a_0_0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        ],
      }),
      delta({
        tool_calls: [
          { index: 1, id: 'call_7f3a_0_1', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      }),
      finished('tool_calls'),
      done,
    ]);
  });

  it('a first chunk with calls has `content: null`', () => {
    expect(stream([call('f')])[0]).toMatchObject({
      chunk: { choices: [{ delta: { role: 'assistant', content: null } }] },
    });
  });

  it('reading 100,000 complete arguments costs less than three times as much as printing them', () => {
    const args: JsonObject = Object.fromEntries(times(100_000, (index) => [`k${index}`, index]));
    const least = (work: () => unknown): number => Math.min(...times(5, () => costOf(work)));
    const reading = least(() =>
      new CandidateCalls(0, about).read({ call: { name: 'f', args }, signature: undefined }),
    );
    expect(reading).toBeLessThan(3 * least(() => JSON.stringify(args)));
  });

  it('arguments keep every digit, and an id from the upstream is kept', () => {
    const event =
      '{"candidates":[{"content":{"parts":[{"functionCall":{"id":"x1","name":"f","args":{"n":9007199254740993}}}]},"finishReason":"STOP"}]}';
    expect(stream([event])[0]).toMatchObject({
      chunk: {
        choices: [
          { delta: { tool_calls: [{ id: 'x1', function: { arguments: '{"n":9007199254740993}' } }] } },
        ],
      },
    });
  });

  it('a STOP before the calls is followed by a second finish reason, `tool_calls`', () => {
    expect(reasonsOf(stream([{ ...text('a') }, finish('STOP'), call('f'), finish('STOP')]))).toEqual([
      'stop',
      'tool_calls',
    ]);
  });

  it('a repeated finish reason is sent once', () => {
    expect(reasonsOf(stream([finish('STOP'), finish('STOP'), finish(1)]))).toEqual(['stop']);
  });

  it('more than `maxTranslatedToolCalls` calls are a failure, and exactly as many are not', () => {
    const calls = (count: number) => [
      parts(...Array.from({ length: count }, () => ({ functionCall: { name: 'f' } }))),
      finish('STOP'),
    ];
    expect(lastOf(stream(calls(maxTranslatedToolCalls)))).toEqual(done);
    expect(stream(calls(maxTranslatedToolCalls + 1))).toEqual([
      failure('The upstream sent too many tool calls in one answer.'),
    ]);
  });
});

describe('streamed arguments', () => {
  const piece = (jsonPath: string, value: object, more: object = { willContinue: true }) =>
    parts({ functionCall: { partialArgs: [{ jsonPath, ...value }], ...more } });
  const begin = parts({ functionCall: { name: 'f', willContinue: true } });
  const string = (stringValue: string) => ({ stringValue });

  /** Name and arguments of the calls, joined as a client joins them. */
  function callsIn(events: readonly Event[]): readonly [unknown, string][] {
    const calls: [unknown, string][] = [];
    for (const event of events) {
      const choices = event.kind === 'chunk' ? (event.chunk['choices'] as readonly JsonObject[]) : [];
      for (const choice of choices)
        for (const each of ((choice['delta'] as JsonObject)['tool_calls'] ?? []) as readonly JsonObject[]) {
          const index = each['index'] as number;
          const told = each['function'] as JsonObject;
          const before = calls[index] ?? [told['name'], ''];
          calls[index] = [before[0], before[1] + (told['arguments'] as string)];
        }
    }
    return calls;
  }

  it.each([
    [
      'an empty part ends the call',
      [piece('$.a', string('U')), piece('$.a', string('S')), parts({ functionCall: {} })],
      { a: 'US' },
    ],
    [
      'a piece without `willContinue` ends the call',
      [piece('$.a', { numberValue: 0.5 }), piece('$.b', { boolValue: false }, {})],
      { a: 0.5, b: false },
    ],
    [
      'the next call ends the call',
      [piece('$.a', { nullValue: 'NULL_VALUE' }), parts({ functionCall: { name: 'g' } })],
      { a: null },
    ],
    ['the finish reason ends the call', [piece('$.a', string('x'))], { a: 'x' }],
    [
      'the last of several values applies if not all are strings',
      [
        piece('$.a', { numberValue: 1 }),
        piece('$.a', string('x')),
        piece('$.b', string('x')),
        piece('$.b', { numberValue: 1 }, {}),
      ],
      { a: 'x', b: 1 },
    ],
    [
      'objects in arrays',
      [
        piece('$.o[0].a', string('x')),
        piece('$.o[0].b', { numberValue: 1 }),
        piece('$.o[1].a', string('y'), {}),
      ],
      { o: [{ a: 'x', b: 1 }, { a: 'y' }] },
    ],
    [
      'quoted names',
      [piece("$['a.b']", string('x')), piece('$["c\\"d"][0]', string('y'), {})],
      { 'a.b': 'x', 'c"d': ['y'] },
    ],
    [
      'the name `__proto__`',
      [piece('$.__proto__.x', string('y'), {})],
      JSON.parse('{"__proto__":{"x":"y"}}') as object,
    ],
    [
      'complete arguments before streamed ones',
      [parts({ functionCall: { args: { a: 1 }, willContinue: true } }), piece('$.b', string('x'), {})],
      { a: 1, b: 'x' },
    ],
    ['no arguments', [parts({ functionCall: {} })], {}],
  ])('are joined into one JSON object: %s', (_case, pieces, expected) => {
    const events = stream([begin, ...pieces, finish('STOP')]);
    expect(callsIn(events)[0]).toEqual(['f', JSON.stringify(expected)]);
    expect(reasonsOf(events)).toEqual(['tool_calls']);
    expect(lastOf(events)).toEqual(done);
  });

  it.each([
    ['a string', [piece('$.a', string('x')), piece('$.b', string('half'))], '{"a":"x","b":"half"'],
    ['nothing', [], '{'],
  ])(
    'are not closed if the model was cut off before their end, whole and streamed: after %s',
    (_case, pieces, expected) => {
      const events = stream([begin, ...pieces, finish('MAX_TOKENS')]);
      expect(callsIn(events)).toEqual([['f', expected]]);
      expect(reasonsOf(events)).toEqual(['length']);
      const candidates = [begin, ...pieces].flatMap((event) => event.candidates[0]?.content.parts ?? []);
      const whole = { candidates: [{ content: { parts: candidates }, finishReason: 'MAX_TOKENS' }] };
      expect(generatedCompletion(textOf(whole), about, sanitise)).toMatchObject({
        right: { choices: [{ message: { tool_calls: [{ function: { arguments: expected } }] } }] },
      });
    },
  );

  it('are closed if only a later call was cut off', () => {
    const events = stream([
      begin,
      piece('$.a', string('x'), {}),
      parts({ functionCall: { name: 'g', willContinue: true } }),
      finish('MAX_TOKENS'),
    ]);
    expect(callsIn(events)).toEqual([
      ['f', '{"a":"x"}'],
      ['g', '{'],
    ]);
  });

  it('a signature is sent once, with the next piece of its call', () => {
    const signature = { extra_content: { google: { thought_signature: 's' } } };
    const signing = (willContinue: boolean) =>
      parts({ functionCall: { partialArgs: [], willContinue }, thoughtSignature: 's' });
    const named = parts({ functionCall: { name: 'f', willContinue: true }, thoughtSignature: 's' });
    const told = (events: readonly Event[]) =>
      events.flatMap((event) =>
        event.kind === 'chunk'
          ? (event.chunk['choices'] as readonly JsonObject[]).flatMap(
              (choice) => ((choice['delta'] as JsonObject)['tool_calls'] ?? []) as readonly JsonObject[],
            )
          : [],
      );
    const first = told(stream([named, piece('$.a', string('x'), {}), finish('STOP')]));
    expect(first).toMatchObject([{ id: 'call_7f3a_0_0', ...signature }, { index: 0 }]);
    expect(first[1]).not.toHaveProperty('extra_content');
    const last = told(stream([begin, piece('$.a', string('x')), signing(false), finish('STOP')]));
    expect(last[0]).not.toHaveProperty('extra_content');
    expect(last[1]).toMatchObject(signature);
  });

  it('the name is sent immediately, the arguments when they are complete', () => {
    expect(stream([begin, piece('$.a', string('x')), parts({ functionCall: {} }), finish('STOP')])).toEqual([
      delta({
        role: 'assistant',
        content: null,
        tool_calls: [
          { index: 0, id: 'call_7f3a_0_0', type: 'function', function: { name: 'f', arguments: '' } },
        ],
      }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"a":"x"}' } }] }),
      finished('tool_calls'),
      done,
    ]);
  });

  it('are accepted in a non-streamed answer too', () => {
    const told = generatedCompletion(
      textOf(parts({ functionCall: { name: 'f', partialArgs: [{ jsonPath: '$.n', numberValue: 2 }] } })),
      about,
      sanitise,
    );
    expect(JSON.stringify(told)).toContain(JSON.stringify('{"n":2}'));
  });

  it.each([
    ['an array with a hole', piece('$.a[1]', string('x'))],
    ['a path without `$`', piece('a', string('x'))],
    ['a path with a root other than `$`', piece('x.a', string('x'))],
    ['a numeric path', parts({ functionCall: { partialArgs: [{ jsonPath: 7, stringValue: 'x' }] } })],
    ['a null piece', parts({ functionCall: { partialArgs: [null] } })],
    ['a path with `..`', piece('$..a', string('x'))],
    ['the path of the root', piece('$', string('x'))],
    ['an array as the arguments', piece('$[0]', string('x'))],
    ['a piece without a value', piece('$.a', {})],
    ['a path that is too deep', piece(`$${'.a'.repeat(maxJsonDepth + 1)}`, string('x'))],
    [
      'a value that is both an array and an object',
      parts({
        functionCall: {
          partialArgs: [
            { jsonPath: '$.a[0]', stringValue: 'x' },
            { jsonPath: '$.a.b', stringValue: 'x' },
          ],
        },
      }),
    ],
    [
      'a string that has a member',
      parts({
        functionCall: {
          partialArgs: [
            { jsonPath: '$.a', stringValue: 'x' },
            { jsonPath: '$.a.b', stringValue: 'x' },
          ],
        },
      }),
    ],
  ])('%s is a failure', (_case, wrong) => {
    expect(lastOf(stream([begin, wrong, finish('STOP')]))).toEqual(
      failure('The upstream sent arguments of a tool call that cannot be put together.'),
    );
  });

  it.each([
    ['strings', piece('$.a', string('x'.repeat(mebibyte)))],
    [
      'complete arguments',
      parts({ functionCall: { args: { a: 'x'.repeat(mebibyte) }, willContinue: true } }),
    ],
    [
      'many small pieces',
      parts({
        functionCall: {
          partialArgs: Array.from({ length: 8192 }, () => ({ jsonPath: '$.a', numberValue: 1 })),
          willContinue: true,
        },
      }),
    ],
  ])('are a failure if they are too large while incomplete: %s', (_case, large) => {
    const many = Array.from({ length: 5 }, () => large);
    expect(lastOf(stream([begin, ...many, finish('STOP')]))).toEqual(
      failure('The upstream sent arguments of a tool call that cannot be put together.'),
    );
  });
});
