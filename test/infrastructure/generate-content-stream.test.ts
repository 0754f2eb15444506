import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { messagesStream } from '../../domain/messages/messages-stream.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { maxJsonDepth, maxStreamEventBytes, maxTranslatedToolCalls } from '../../domain/shared/limits.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { generatedCompletion } from '../../infrastructure/providers/cloud-a/generate-content-response.ts';
import { generateContentStream } from '../../infrastructure/providers/cloud-a/generate-content-stream.ts';
import { jsonArrayFrames } from '../../infrastructure/providers/wire/json-array.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { aContentStream, type Framing, framed } from '../support/arbitraries/generate-content-streams.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';
import { malformedCandidates } from '../support/malformed-pieces.ts';

type Event = StreamEvent<JsonObject>;

const about = { id: 'chatcmpl-7f3a', model: 'asked', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message.replaceAll('secret', '***');
const answers = seal(generateContentStream(about, sanitise));
const machines = { sse: andThen(sseFrames, answers), array: andThen(jsonArrayFrames, answers) };
const framings = Object.keys(machines) as Framing[];

const failure = (message: string, code = ''): Event => ({
  kind: 'failed',
  error: {
    code: 'upstream_error',
    message,
    upstream: { status: 502, ...(code === '' ? {} : { labels: { code } }) },
  },
});

const mebibyte = 1024 * 1024;

for (const framing of framings)
  describeMachineLaws(`generateContentStream as ${framing}`, {
    machine: machines[framing],
    streams: aContentStream(framing),
    isTerminal: ({ kind }) => kind !== 'chunk',
    endless: {
      piece: Buffer.alloc(mebibyte, framing === 'sse' ? 'data: {"a":' : '{"a":['),
      pushes: 2 * (maxStreamEventBytes / mebibyte),
      outputs: [failure('The upstream sent an event that is too large.')],
    },
  });

const textOf = (event: object | string): string =>
  typeof event === 'string' ? event : JSON.stringify(event);

const stream = (events: readonly (object | string)[], ending?: Ending, framing: Framing = 'sse') =>
  outputsOf(machines[framing], [framed(framing, events.map(textOf))], ending);

const parts = (...of: readonly object[]) => ({ candidates: [{ content: { role: 'model', parts: of } }] });
const text = (said: string) => parts({ text: said });
const finish = (finishReason: unknown, more: object = {}) => ({ candidates: [{ finishReason, ...more }] });
const call = (name: string, args?: object) => parts({ functionCall: { name, ...(args && { args }) } });
const usage = (prompt: number, candidates: number) => ({
  usageMetadata: {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates,
  },
});

const head = { id: 'chatcmpl-7f3a', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'asked' };
const chunk = (choices: readonly object[], terminal = false, more: object = {}): Event => ({
  kind: 'chunk',
  chunk: { ...head, choices, ...more } as JsonObject,
  wire: undefined,
  terminal,
});
const delta = (of: object, index = 0) => chunk([{ index, delta: of, logprobs: null, finish_reason: null }]);
const finished = (reason: string, terminal = true, index = 0) =>
  chunk([{ index, delta: {}, logprobs: null, finish_reason: reason }], terminal);
const used = (prompt: number, completion: number) =>
  chunk([], false, {
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  });
const done: Event = { kind: 'done' };

/** The finish reasons that were told, in order. */
const reasonsOf = (events: readonly Event[]) =>
  events
    .flatMap((event) =>
      event.kind === 'chunk'
        ? (event.chunk['choices'] as readonly JsonObject[]).map((choice) => choice['finish_reason'])
        : [],
    )
    .filter((reason) => reason !== null);

const lastOf = (events: readonly Event[]) => events.at(-1);

describe.each(framings)('a stream framed as %s', (framing) => {
  it('has the role in its first chunk, text, one finish, one usage chunk, and its end', () => {
    const events = [
      { ...text('Good '), ...usage(3, 1) },
      text('day.'),
      { ...finish('STOP'), ...usage(3, 2) },
    ];
    expect(stream(events, undefined, framing)).toEqual([
      delta({ role: 'assistant', content: 'Good ' }),
      delta({ content: 'day.' }),
      finished('stop'),
      used(3, 2),
      done,
    ]);
  });

  it('the end of the bytes is the end of the stream: broken or not, once every candidate has finished', () => {
    const broken: Ending = { kind: 'fault', reason: 'It broke.' };
    expect(lastOf(stream([text('a'), finish('STOP')], broken, framing))).toEqual(done);
    expect(stream([text('a')], broken, framing).slice(1)).toEqual([failure('It broke.')]);
    expect(stream([text('a')], undefined, framing).slice(1)).toEqual([
      failure('The upstream ended its stream before the answer was complete.'),
    ]);
    expect(stream([], undefined, framing)).toEqual([
      failure('The upstream ended its stream before the answer was complete.'),
    ]);
  });
});

describe('calls', () => {
  it('STOP in a later chunk is `tool_calls` where calls came before it', () => {
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

  it('a first chunk with calls has no content', () => {
    expect(stream([call('f')])[0]).toMatchObject({
      chunk: { choices: [{ delta: { role: 'assistant', content: null } }] },
    });
  });

  it('arguments keep every digit, and an id of the upstream’s own stays', () => {
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

  it('STOP that is told before the calls is told again', () => {
    expect(reasonsOf(stream([{ ...text('a') }, finish('STOP'), call('f'), finish('STOP')]))).toEqual([
      'stop',
      'tool_calls',
    ]);
  });

  it('a reason that repeats is told once', () => {
    expect(reasonsOf(stream([finish('STOP'), finish('STOP'), finish(1)]))).toEqual(['stop']);
  });

  it('there are not too many of them', () => {
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

describe('arguments that are streamed', () => {
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
      'the last piece ends it',
      [piece('$.a', { numberValue: 0.5 }), piece('$.b', { boolValue: false }, {})],
      { a: 0.5, b: false },
    ],
    [
      'the next call ends it',
      [piece('$.a', { nullValue: 'NULL_VALUE' }), parts({ functionCall: { name: 'g' } })],
      { a: null },
    ],
    ['the finish ends it', [piece('$.a', string('x'))], { a: 'x' }],
    [
      'objects in lists',
      [
        piece('$.o[0].a', string('x')),
        piece('$.o[0].b', { numberValue: 1 }),
        piece('$.o[1].a', string('y'), {}),
      ],
      { o: [{ a: 'x', b: 1 }, { a: 'y' }] },
    ],
    [
      'names in quotes',
      [piece("$['a.b']", string('x')), piece('$["c\\"d"][0]', string('y'), {})],
      { 'a.b': 'x', 'c"d': ['y'] },
    ],
    [
      'a name that means something elsewhere',
      [piece('$.__proto__.x', string('y'), {})],
      JSON.parse('{"__proto__":{"x":"y"}}') as object,
    ],
    [
      'arguments that came whole beside them',
      [parts({ functionCall: { args: { a: 1 }, willContinue: true } }), piece('$.b', string('x'), {})],
      { a: 1, b: 'x' },
    ],
    ['none at all', [parts({ functionCall: {} })], {}],
  ])('%s', (_case, pieces, expected) => {
    const events = stream([begin, ...pieces, finish('STOP')]);
    expect(callsIn(events)[0]).toEqual(['f', JSON.stringify(expected)]);
    expect(reasonsOf(events)).toEqual(['tool_calls']);
    expect(lastOf(events)).toEqual(done);
  });

  it('a signature is told with the next piece of its call, once', () => {
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

  it('the name is told at once, the arguments once they are complete', () => {
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

  it('a whole answer may have them too', () => {
    const told = generatedCompletion(
      textOf(parts({ functionCall: { name: 'f', partialArgs: [{ jsonPath: '$.n', numberValue: 2 }] } })),
      about,
      sanitise,
    );
    expect(JSON.stringify(told)).toContain(JSON.stringify('{"n":2}'));
  });

  it.each([
    ['a list with a hole', piece('$.a[1]', string('x'))],
    ['a path that is none', piece('a', string('x'))],
    ['a path to everything', piece('$..a', string('x'))],
    ['the root', piece('$', string('x'))],
    ['a list as an object', piece('$[0]', string('x'))],
    ['no value', piece('$.a', {})],
    ['an endless path', piece(`$${'.a'.repeat(maxJsonDepth + 1)}`, string('x'))],
    [
      'a text in which there is something',
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
    ['texts', piece('$.a', string('x'.repeat(mebibyte)))],
    [
      'arguments that come whole',
      parts({ functionCall: { args: { a: 'x'.repeat(mebibyte) }, willContinue: true } }),
    ],
  ])('they are bounded while they wait: %s', (_case, large) => {
    const many = Array.from({ length: 5 }, () => large);
    expect(lastOf(stream([begin, ...many, finish('STOP')]))).toEqual(
      failure('The upstream sent arguments of a tool call that cannot be put together.'),
    );
  });
});

describe('reasoning', () => {
  it('is never placed in delta.content: it is kept under the platform’s metadata', () => {
    const thought = { text: 'hm', thought: true };
    const reasoning = (...of: readonly object[]) => ({
      provider_metadata: { cloud_a_platform: { reasoning: of } },
    });
    expect(
      stream([
        parts(thought),
        parts({ text: 'a', thoughtSignature: 's1' }),
        {
          candidates: [{ content: { parts: [{ text: '', thoughtSignature: 's2' }] }, finishReason: 'STOP' }],
        },
      ]),
    ).toEqual([
      delta({ role: 'assistant', content: '', ...reasoning({ type: 'thinking', thinking: 'hm' }) }),
      delta({ content: 'a', ...reasoning({ type: 'thinking', thinking: '', signature: 's1' }) }),
      delta(reasoning({ type: 'thinking', thinking: '', signature: 's2' })),
      finished('stop'),
      done,
    ]);
  });
});

describe('blocked answers are a normal end', () => {
  const ended = [delta({ role: 'assistant', content: '' }), finished('content_filter'), done];
  it.each([
    [
      'a prompt that was blocked',
      { promptFeedback: { blockReason: 'MODEL_ARMOR' }, usageMetadata: { trafficType: 'ON_DEMAND' } },
    ],
    ['a candidate without content', finish('MODEL_ARMOR')],
    ['content that is empty', finish('SAFETY', { content: {} })],
    ['content without parts', finish('SPII', { content: { role: 'model' } })],
  ])('%s', (_case, event) => {
    expect(stream([event])).toEqual(ended);
  });

  it('what the platform says of it is a refusal, sanitised', () => {
    expect(
      stream([{ promptFeedback: { blockReason: 'OTHER', blockReasonMessage: 'A secret.' } }])[0],
    ).toEqual(delta({ role: 'assistant', content: '', refusal: 'A ***.' }));
    expect(stream([text('a'), finish('SPII', { finishMessage: 'A secret.' })]).slice(1)).toEqual([
      delta({ refusal: 'A ***.' }),
      finished('content_filter'),
      done,
    ]);
  });

  it('what is withheld after text is cut off there', () => {
    expect(stream([text('a'), finish('RECITATION')])).toEqual([
      delta({ role: 'assistant', content: 'a' }),
      finished('content_filter'),
      done,
    ]);
  });

  it('ratings of a prompt that was not blocked end nothing', () => {
    expect(stream([{ promptFeedback: { safetyRatings: [] } }, text('a'), finish('STOP')])).toHaveLength(3);
  });
});

describe('usage', () => {
  it('the last one counts, never a sum, and what is no count leaves it', () => {
    const events = [
      { ...text('a'), ...usage(3, 1) },
      { ...finish('STOP'), ...usage(3, 9) },
      { usageMetadata: { trafficType: 'ON_DEMAND' } },
    ];
    expect(stream(events).slice(-2)).toEqual([used(3, 9), done]);
  });

  it('there is no usage chunk without one', () => {
    expect(stream([text('a'), { ...finish('STOP'), usageMetadata: {} }]).slice(-2)).toEqual([
      finished('stop'),
      done,
    ]);
  });

  it('what was used until a failure is told with it', () => {
    expect(lastOf(stream([{ ...text('a'), ...usage(3, 1) }]))).toMatchObject({
      kind: 'failed',
      chunk: { ...head, choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
    });
  });
});

describe('several candidates', () => {
  it('are choices of their own, and the stream is complete with the last of them', () => {
    const of = (index: number, more: object) => ({ index, ...more });
    const events = [
      {
        candidates: [
          of(0, { content: { parts: [{ text: 'a' }] } }),
          of(1, { content: { parts: [{ functionCall: { name: 'f' } }] } }),
        ],
      },
      { candidates: [of(1, { finishReason: 'STOP' })] },
      { candidates: [of(0, { content: { parts: [{ text: 'b' }] }, finishReason: 'STOP' })] },
    ];
    const told = stream(events);
    expect(told[0]).toMatchObject({
      chunk: {
        choices: [{ index: 0 }, { index: 1, delta: { tool_calls: [{ index: 0, id: 'call_7f3a_1_0' }] } }],
      },
    });
    expect(told.slice(1)).toEqual([
      finished('tool_calls', false, 1),
      delta({ content: 'b' }),
      finished('stop', true, 0),
      done,
    ]);
    expect(lastOf(stream(events.slice(0, 2)))).toMatchObject({ kind: 'failed' });
  });

  it('are not too many', () => {
    const candidates = Array.from({ length: 129 }, (_, index) => ({ index, finishReason: 'STOP' }));
    expect(stream([{ candidates }])).toEqual([failure('The upstream sent too many candidates.')]);
  });
});

describe('failures are structured, and nothing comes after them', () => {
  it.each([
    [
      'an error',
      { error: { code: 503, message: 'A secret.', status: 'UNAVAILABLE' } },
      'A ***.',
      'UNAVAILABLE',
    ],
    ['an error without words', { error: {} }, 'The upstream reported an error.'],
    ['cut JSON', '{"candidates":[', 'The upstream sent a malformed event.'],
    ['a page', '<html>', 'The upstream sent a malformed event.'],
    ['an array', '[]', 'The upstream sent a malformed event.'],
    ['a number', '1.0', 'The upstream sent a malformed event.'],
    ['[DONE]', '[DONE]', 'The upstream sent a malformed event.'],
    [
      'deep nesting',
      `{"a":${'['.repeat(300)}${']'.repeat(300)}}`,
      'The upstream sent an event that is nested too deeply.',
    ],
  ])('%s', (_case, wrong, message, code = '') => {
    expect(stream([text('a'), wrong, finish('STOP')])).toEqual([
      delta({ role: 'assistant', content: 'a' }),
      failure(message, code),
    ]);
  });

  it.each(malformedCandidates)('a piece that would vanish: %s', (_, candidates) => {
    const told = stream([text('a'), { candidates }, finish('STOP')]);
    expect(told.slice(1)).toEqual([failure('The upstream sent a malformed event.')]);
  });

  it('an event named error is one', () => {
    const bytes = Buffer.from('event: error\r\ndata: {"message":"No."}\r\n\r\n');
    expect(outputsOf(machines.sse, [bytes])).toEqual([failure('No.')]);
  });

  it('a failure after the finish is a failure', () => {
    expect(lastOf(stream([finish('STOP'), { error: { message: 'No.' } }]))).toEqual(failure('No.'));
  });
});

it('a messages caller is told thinking, text and tool use, and the stop reason of the calls', () => {
  const machine = andThen(machines.sse, seal(messagesStream({ id: 'msg_1', model: 'asked' })));
  const events = [
    parts({ text: 'hm', thought: true }),
    parts({ text: 'Look.', thoughtSignature: 's' }),
    call('f', { a: 1 }),
    { ...finish('STOP'), ...usage(3, 5) },
  ];
  const told = outputsOf(machine, [framed('sse', events.map(textOf))]).map((event) =>
    event.kind === 'chunk' ? event.chunk : event.kind,
  ) as readonly JsonObject[];
  expect(told.flatMap(({ content_block: block }) => (block === undefined ? [] : [block]))).toMatchObject([
    { type: 'thinking' },
    { type: 'text' },
    { type: 'tool_use', id: 'call_7f3a_0_0', name: 'f' },
  ]);
  expect(told.find(({ type }) => type === 'message_delta')).toMatchObject({
    delta: { stop_reason: 'tool_use' },
    usage: { input_tokens: 3, output_tokens: 5 },
  });
  expect(told.at(-1)).toBe('done');
});

it('a stream tells what the same answer tells as a whole, however its parts are spread over events', () => {
  const aPart = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 8 }).map((said) => ({ text: said })),
    fc.constantFrom(
      { text: 'hm', thought: true },
      { text: 'a', thoughtSignature: 's' },
      { functionCall: { name: 'f', args: { n: 1.5 } } },
      { functionCall: { id: 'own', name: 'g' } },
      { functionCall: { name: 'h' }, thoughtSignature: 't' },
      { inlineData: { mimeType: 'image/png', data: 'AA' } },
      { executableCode: { code: '1' } },
    ),
  );
  const spread = fc.array(fc.array(aPart, { maxLength: 3 }), { minLength: 1, maxLength: 6 });
  const reason = fc.constantFrom('STOP', 'MAX_TOKENS', 'SAFETY', 'UNEXPECTED_TOOL_CALL', 2);
  fc.assert(
    fc.property(spread, reason, fc.constantFrom(...framings), (events, finishReason, framing) => {
      const told = { groundingMetadata: { webSearchQueries: ['q'] } };
      const whole = {
        candidates: [{ content: { parts: events.flat() }, finishReason, ...told }],
        ...usage(3, 5),
      };
      const completion = generatedCompletion(JSON.stringify(whole), about, sanitise);
      const streamed = stream(
        [...events.map((of) => parts(...of)), { ...finish(finishReason, told), ...usage(3, 5) }],
        undefined,
        framing,
      );
      expect(joined(streamed)).toEqual(shown(E.isRight(completion) ? completion.right : {}));
    }),
    { numRuns: 300 },
  );
});

/** What a message says, joined as a client joins it. */
interface Joined {
  content: string;
  readonly calls: unknown[];
  readonly images: unknown[];
  readonly reasoning: unknown[];
  /** Of calls: a whole answer has them behind all thoughts. */
  readonly signatures: unknown[];
  readonly parts: unknown[];
  grounding: unknown;
}

const nothing = (): Joined => ({
  content: '',
  calls: [],
  images: [],
  reasoning: [],
  signatures: [],
  parts: [],
  grounding: undefined,
});

/** What a client makes of a stream of one choice. */
function joined(events: readonly Event[]) {
  const said = nothing();
  let tokens: unknown;
  for (const event of events) {
    if (event.kind !== 'chunk') continue;
    tokens = event.chunk['usage'] ?? tokens;
    for (const choice of event.chunk['choices'] as readonly JsonObject[])
      add(said, choice['delta'] as JsonObject);
  }
  return { ...said, finish: reasonsOf(events), usage: tokens };
}

function shown(completion: JsonObject) {
  const said = nothing();
  const [choice] = completion['choices'] as readonly JsonObject[];
  add(said, choice!['message'] as JsonObject);
  return { ...said, finish: [choice!['finish_reason']], usage: completion['usage'] };
}

function add(said: Joined, of: JsonObject) {
  said.content += typeof of['content'] === 'string' ? of['content'] : '';
  for (const each of (of['tool_calls'] ?? []) as readonly JsonObject[])
    said.calls.push([each['id'], each['function'], each['extra_content']]);
  for (const image of (of['images'] ?? []) as readonly JsonObject[]) {
    if ('index' in image) expect(image['index']).toBe(said.images.length);
    said.images.push(image['image_url']);
  }
  const metadata = of['provider_metadata'] as { cloud_a_platform: JsonObject } | undefined;
  addMetadata(said, metadata?.cloud_a_platform ?? {});
}

function addMetadata(said: Joined, { reasoning, parts: others, groundingMetadata }: JsonObject) {
  for (const each of (reasoning ?? []) as readonly JsonObject[])
    ('tool_call_id' in each ? said.signatures : said.reasoning).push(each);
  said.parts.push(...((others ?? []) as readonly unknown[]));
  said.grounding = groundingMetadata ?? said.grounding;
}
