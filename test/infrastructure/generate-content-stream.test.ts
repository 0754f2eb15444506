import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { messagesStream } from '../../domain/messages/messages-stream.ts';
import { type JsonObject, objectsOf } from '../../domain/shared/json.ts';
import { maxStreamEventBytes } from '../../domain/shared/limits.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { generatedCompletion } from '../../infrastructure/providers/cloud-a/generate-content-response.ts';
import { aContentStream, type Framing, framed } from '../support/arbitraries/generate-content-streams.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';
import { malformedCandidates } from '../support/malformed-pieces.ts';
import {
  about,
  call,
  chunk,
  delta,
  done,
  type Event,
  failure,
  finish,
  finished,
  finishedFor,
  head,
  lastOf,
  machines,
  mebibyte,
  noBlocks,
  parts,
  reasonsOf,
  sanitise,
  stream,
  text,
  textOf,
} from './generate-content-told.ts';

const framings = Object.keys(machines) as Framing[];

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
const usage = (prompt: number, candidates: number) => ({
  usageMetadata: {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates,
  },
});
const used = (prompt: number, completion: number) =>
  chunk([], false, {
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  });

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

  it('has the logprobs of each event once, also those of an event that only finishes', () => {
    const chosen = (token: string) => ({
      logprobsResult: { chosenCandidates: [{ token, logProbability: -1 }] },
    });
    const events = [
      { candidates: [{ content: { parts: [{ text: 'a' }] }, ...chosen('a') }] },
      { candidates: [{ content: { parts: [{ text: '' }] }, finishReason: 'STOP', ...chosen('b') }] },
    ];
    const last = {
      candidates: [{ content: { parts: [{ text: 'c' }] }, finishReason: 'STOP', ...chosen('c') }],
    };
    const tokens = (event: Event) =>
      event.kind === 'chunk' ? objectsOf(event.chunk['choices']).map(({ logprobs }) => logprobs) : [];
    expect(stream(events, undefined, framing).flatMap(tokens)).toMatchObject([
      { content: [{ token: 'a' }] },
      { content: [{ token: 'b' }] },
    ]);
    expect(stream([last], undefined, framing).flatMap(tokens)).toMatchObject([
      { content: [{ token: 'c' }] },
      null,
    ]);
  });

  it('is reopened by text, images, calls or another candidate after a finish reason, and not by sources', () => {
    const sources = { candidates: [{ groundingMetadata: { webSearchQueries: ['q'] } }] };
    const second = { candidates: [{ index: 1, content: { parts: [{ text: 'c' }] } }] };
    const goesOn = (...events: readonly object[]): readonly boolean[] =>
      stream(events, undefined, framing).map((event) => event.kind === 'chunk' && event.reopens === true);
    expect(goesOn(text('a'), finish('STOP'), text('b'))).toEqual([false, false, true, false]);
    expect(goesOn(text('a'), finish('STOP'), sources)).toEqual([false, false, false, false]);
    expect(goesOn(text('a'), finish('STOP'), second)).toEqual([false, false, true, false]);
    const image = { inlineData: { mimeType: 'image/png', data: 'AA' } };
    for (const part of [image, { functionCall: { name: 'f', willContinue: true } }])
      expect(goesOn(text('a'), finish('STOP'), parts(part), finish('STOP'))[2]).toBe(true);
  });

  it('of a model that ran code is reopened by content after its finish reason, and then fails without another one', () => {
    const result = parts({ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '4' } });
    const thought = parts({ text: 'so', thought: true });
    const last = { candidates: [{ content: { parts: [{ text: 'It is 4.' }] }, finishReason: 'STOP' }] };
    const begun = [parts({ executableCode: { code: 'print(2 + 2)' } }), finish('STOP')];
    for (const [more, ...rest] of [
      [result, thought, last],
      [thought, last],
    ]) {
      const marks = stream([...begun, more!, ...rest], undefined, framing).map((event) =>
        event.kind === 'chunk' ? [event.terminal, event.reopens === true] : event.kind,
      );
      const between = rest.slice(1).map(() => [false, false]);
      expect(marks).toEqual([
        [false, false],
        [true, false],
        [false, true],
        ...between,
        [true, false],
        'done',
      ]);
      for (const ending of [{ kind: 'eof' }, { kind: 'fault', reason: 'It broke.' }] as const)
        expect(lastOf(stream([...begun, more!], ending, framing))).toMatchObject({ kind: 'failed' });
    }
    const signature = parts({ text: '', thoughtSignature: 's' });
    expect(lastOf(stream([...begun, signature], undefined, framing))).toEqual(done);
  });

  it('is complete at the end of its bytes, or when it breaks, if every candidate has finished, and fails otherwise', () => {
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

describe('reasoning', () => {
  it('is sent in the metadata of the platform, not in `delta.content`', () => {
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

it('an event without parts produces no chunk, and neither does one with blank data', () => {
  expect(stream([parts(), ' ', text('a'), finish('STOP')])).toEqual([
    delta({ role: 'assistant', content: 'a' }),
    finished('stop'),
    done,
  ]);
});

it('images are numbered across events', () => {
  const image = (data: string) => ({ inlineData: { mimeType: 'image/png', data } });
  const told = (data: string, index: number) => ({
    index,
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${data}` },
  });
  expect(stream([parts(image('A'), image('B')), parts(image('C')), finish('STOP')])).toEqual([
    delta({ role: 'assistant', content: '', images: [told('A', 0), told('B', 1)] }),
    delta({ images: [told('C', 2)] }),
    finished('stop'),
    done,
  ]);
});

describe('blocked answers end normally', () => {
  it.each([
    [
      'a blocked prompt',
      { promptFeedback: { blockReason: 'MODEL_ARMOR' }, usageMetadata: { trafficType: 'ON_DEMAND' } },
      { block_reason: 'MODEL_ARMOR' },
    ],
    ['a candidate without content', finish('MODEL_ARMOR'), { stop_reason: 'MODEL_ARMOR' }],
    ['empty content', finish('SAFETY', { content: {} }), { stop_reason: 'SAFETY' }],
    ['content without parts', finish('SPII', { content: { role: 'model' } }), { stop_reason: 'SPII' }],
  ])('%s ends with `content_filter`', (_case, event, own) => {
    expect(stream([event])).toEqual([
      delta({ role: 'assistant', content: '' }),
      finishedFor('content_filter', own),
      done,
    ]);
  });

  it('the message of the platform for a block becomes a sanitised `refusal`, and is omitted for STOP', () => {
    expect(
      stream([{ promptFeedback: { blockReason: 'OTHER', blockReasonMessage: 'A secret.' } }])[0],
    ).toEqual(delta({ role: 'assistant', content: '', refusal: 'A ***.' }));
    expect(stream([text('a'), finish('SPII', { finishMessage: 'A secret.' })]).slice(1)).toEqual([
      delta({ refusal: 'A ***.' }),
      finishedFor('content_filter', { stop_reason: 'SPII' }),
      done,
    ]);
    expect(stream([text('a'), finish('STOP', { finishMessage: 'Well.' })]).slice(1)).toEqual([
      finished('stop'),
      done,
    ]);
  });

  it('a blocked prompt is reported at the end, and only if no candidate has finished', () => {
    const blocked = { promptFeedback: { blockReason: 'OTHER', blockReasonMessage: 'No.' } };
    const withheld = finishedFor('content_filter', { block_reason: 'OTHER' });
    const refused = [delta({ refusal: 'No.' }), withheld, done];
    expect(stream([blocked, text('a'), finish('STOP')])).toEqual(stream([text('a'), finish('STOP')]));
    expect(stream([text('a'), finish('STOP'), blocked])).toEqual(stream([text('a'), finish('STOP')]));
    for (const events of [
      [blocked, text('a')],
      [text('a'), blocked],
    ])
      expect(stream(events)).toEqual([delta({ role: 'assistant', content: 'a' }), ...refused]);
    const other = { candidates: [{ index: 1, content: { parts: [{ text: 'b' }] } }] };
    expect(lastOf(stream([blocked, other]))).toMatchObject({ kind: 'failed' });
  });

  it.each(noBlocks)('the block reason %j does not count as a block', (blockReason) => {
    const feedback = { promptFeedback: { blockReason } };
    expect(stream([feedback])).toEqual([
      failure('The upstream ended its stream before the answer was complete.'),
    ]);
    expect(stream([feedback, text('a'), finish('STOP')])).toHaveLength(3);
  });

  it('an answer that is withheld after some text keeps that text', () => {
    expect(stream([text('a'), finish('RECITATION')])).toEqual([
      delta({ role: 'assistant', content: 'a' }),
      finishedFor('content_filter', { stop_reason: 'RECITATION' }),
      done,
    ]);
  });

  it('safety ratings of a prompt that was not blocked do not end the stream', () => {
    expect(stream([{ promptFeedback: { safetyRatings: [] } }, text('a'), finish('STOP')])).toHaveLength(3);
  });
});

describe('usage', () => {
  it('is the last one reported, not a sum, and metadata without counts does not replace it', () => {
    const events = [
      { ...text('a'), ...usage(3, 1) },
      { ...finish('STOP'), ...usage(3, 9) },
      { usageMetadata: { trafficType: 'ON_DEMAND' } },
    ];
    expect(stream(events).slice(-2)).toEqual([used(3, 9), done]);
  });

  it('has no chunk if the upstream reports no counts', () => {
    expect(stream([text('a'), { ...finish('STOP'), usageMetadata: {} }]).slice(-2)).toEqual([
      finished('stop'),
      done,
    ]);
  });

  it('that was reported before a failure is sent with the failure', () => {
    expect(lastOf(stream([{ ...text('a'), ...usage(3, 1) }]))).toMatchObject({
      kind: 'failed',
      chunk: { ...head, choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
    });
  });
});

describe('several candidates', () => {
  it('are separate choices, and the stream is complete when the last of them has finished', () => {
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

  it('are a failure if there are 129 of them', () => {
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
    ['an error without a message', { error: {} }, 'The upstream reported an error.'],
    ['cut JSON', '{"candidates":[', 'The upstream sent a malformed event.'],
    ['an HTML page', '<html>', 'The upstream sent a malformed event.'],
    ['an error in a list', '[{"error":{"message":"A secret."}}]', 'A ***.'],
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

  it.each(malformedCandidates)('a malformed candidate, whose content would be lost: %s', (_, candidates) => {
    const told = stream([text('a'), { candidates }, finish('STOP')]);
    expect(told.slice(1)).toEqual([failure('The upstream sent a malformed event.')]);
  });

  it('[DONE] ends a finished or blocked stream, and later events are ignored', () => {
    const blocked = { promptFeedback: { blockReason: 'OTHER' } };
    for (const events of [[text('a'), finish('STOP')], [blocked]])
      expect(stream([...events, ' [DONE] ', text('b'), { error: {} }])).toEqual(stream(events));
  });

  it('an event named `error` is a failure', () => {
    const bytes = Buffer.from('event: error\r\ndata: {"message":"No."}\r\n\r\n');
    expect(outputsOf(machines.sse, [bytes])).toEqual([failure('No.')]);
  });

  it('an error after the finish reason is a failure, also as JSON outside of an SSE event', () => {
    const error = { error: { code: 503, message: 'No.', status: 'UNAVAILABLE' } };
    expect(lastOf(stream([finish('STOP'), error]))).toEqual(failure('No.', 'UNAVAILABLE'));
    for (const beside of [error, [error]]) {
      const bytes = [framed('sse', [textOf(finish('STOP'))]), Buffer.from(textOf(beside))];
      expect(lastOf(outputsOf(machines.sse, bytes))).toEqual(failure('No.', 'UNAVAILABLE'));
    }
  });
});

it('a caller of the Messages API gets thinking, text and tool use blocks, and the stop reason `tool_use`', () => {
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

it('a stream has the same content as the non-streamed answer, for any distribution of parts over events', () => {
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

/** The content of a message, joined as a client joins it. */
interface Joined {
  content: string;
  readonly calls: unknown[];
  readonly images: unknown[];
  readonly reasoning: unknown[];
  /** Those of calls: a non-streamed answer has them after all thoughts. */
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

/** The message that a client assembles from a stream of one choice. */
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
