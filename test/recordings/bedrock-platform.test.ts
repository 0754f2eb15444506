import { describe, expect, it } from '@jest/globals';
import {
  errorFrame,
  eventFrame,
  exceptionFrame,
  frame,
  rawFrame,
  textHeader,
} from '../support/event-stream-frames.ts';
import { randomNumbers, type Replay } from '../support/replay-upstream.ts';
import {
  billed,
  type ConverseFacts,
  converseRecordings,
  type ConverseStreamFacts,
  finishOf,
  frameCuts,
  framesOf,
  frameStarts,
  invokeStreams,
  stopEnd,
  streamedCalls,
  vectors,
  wholeCalls,
} from './bedrock-library.ts';
import { choose } from './cut-short.ts';
import {
  expectCode,
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from './expectations.ts';
import { leftOut } from './left-out.ts';
import { noRecordings, type Recording, type TextFacts, named } from './library.ts';
import { expectCredentials, onPlatformB, type PlatformModel, platformRehearsal } from './platforms.ts';
import { factsOf, isLoose, listOf, type Loose, readStream } from './received.ts';
import type { Answer } from './rehearsal.ts';
import { cutsFor, lengthsAround } from './cuts.ts';
import { type AskFor, describeRefusals } from './replaying.ts';

/** An id with a colon, and an ARN: both are percent-encoded in the path and in the signature. */
const model: PlatformModel = {
  id: 'profile',
  ...onPlatformB('runtime_unified', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'),
};
const arn: PlatformModel = {
  id: 'arn',
  ...onPlatformB(
    'runtime_unified',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0',
  ),
};

const { ask } = platformRehearsal([model, arn]);

const eventStream = 'application/vnd.amazon.eventstream';
const streamed = (body: Buffer, more: Partial<Replay> = {}, { id } = model): Promise<Answer> =>
  ask({ body, headers: { 'content-type': eventStream }, ...more }, { model: id, stream: true });
const whole = (body: Buffer | string, more: Partial<Replay> = {}): Promise<Answer> =>
  ask({ body, headers: { 'content-type': 'application/json' }, ...more }, { model: model.id, stream: false });

const malformed = 'The upstream sent a malformed event.';
const premature = /before the answer was complete/;

type Stream = Recording<ConverseStreamFacts>;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const expectText = (facts: TextFacts | undefined, text: string): void =>
  expect(factsOf(text)).toEqual(
    facts === undefined ? factsOf('') : { chars: facts.chars, sha256: facts.sha256 },
  );

/** The reasoning under the platform's metadata, which is its only place. */
const thoughtIn = (said: readonly Loose[]): string =>
  said
    .flatMap(({ provider_metadata: metadata }) =>
      isLoose(metadata) && isLoose(metadata['cloud_b_platform'])
        ? listOf(metadata['cloud_b_platform']['reasoning'])
        : [],
    )
    .map(({ thinking }) => textOf(thinking))
    .join('');

/** The upstream received the translated body with a signature. */
function expectSent(answer: Answer, sentTo: PlatformModel): void {
  expect(answer.upstream?.body).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] });
  expectCredentials(answer, sentTo);
}

/** Translated answers have the requested model and an id that the gateway generated. */
function expectNames(told: readonly Loose[], object: string, { id: asked }: PlatformModel): void {
  for (const each of told)
    expect(each).toMatchObject({ object, model: asked, id: told[0]!['id'], created: told[0]!['created'] });
  expect(told[0]!['id']).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
}

function expectStreamed(recording: Stream, answer: Answer, from: PlatformModel = model): void {
  const { facts } = recording;
  const received = readStream(answer.bytes);
  const usage = billed(facts);
  expectStreamSuccess(answer, received, usage);
  expect(Object.keys(received.choices)).toEqual(['0']);
  expect(received.choices['0']!.finishReason).toBe(finishOf[facts.stopReason]);
  expectText(facts.text, received.choices['0']!.text);
  const calls = streamedCalls(recording);
  expect(received.toolCalls).toEqual(calls.map((call, index) => ({ key: `0:${index}`, ...call })));
  const deltas = received.chunks
    .flatMap(({ choices }) => listOf(choices))
    .map(({ delta }) => (isLoose(delta) ? delta : {}));
  expectText(facts.blocks.find(({ reasoning }) => reasoning !== undefined)?.reasoning, thoughtIn(deltas));
  expect(received.choices['0']!.reasoning).toBe('');
  expect(deltas.map(({ role }) => role).filter((role) => role !== undefined)).toEqual(['assistant']);
  const used = received.chunks.filter((chunk) => chunk['usage'] !== undefined);
  expect(used.map(({ choices }) => choices)).toEqual(usage === undefined ? [] : [[]]);
  if (usage !== undefined) expect(received.usage).toMatchObject(usage);
  expectNames(received.chunks, 'chat.completion.chunk', from);
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: calls.length });
  expectSent(answer, from);
}

function expectWhole({ body, facts }: Recording<ConverseFacts>, answer: Answer): void {
  expectSuccessRows(answer, billed(facts));
  const completion = JSON.parse(answer.bytes.toString()) as Loose;
  const [choice, ...others] = listOf(completion['choices']);
  expect(others).toEqual([]);
  expect(choice!['finish_reason']).toBe(finishOf[facts.stopReason]);
  const message = choice!['message'] as Loose;
  const cited = facts.blocks.includes('citationsContent');
  const text = textOf(message['content']);
  expectText(facts.text, cited ? text.slice(0, facts.text.chars) : text);
  expect(text.length > facts.text.chars).toBe(cited);
  expectText(facts.reasoning, thoughtIn([message]));
  const calls = wholeCalls(body);
  expect(
    listOf(message['tool_calls']).map(({ id, function: callee }) => ({ id, ...(callee as object) })),
  ).toEqual(calls);
  expectNames([completion], 'chat.completion', model);
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: calls.length });
  expectSent(answer, model);
}

function replayed(): void {
  const { streams, answers, refusals } = converseRecordings();
  /** Short streams of different kinds. */
  const some = choose(
    streams,
    ['tool_use', 'end_turn', 'max_tokens', 'guardrail_intervened'].map(
      (reason) =>
        ({ facts }: Stream) =>
          facts.stopReason === reason,
    ),
  );

  it('recordings of streams, answers, errors and vectors exist', () => {
    expect(streams.length).toBeGreaterThan(20);
    expect(answers.length).toBeGreaterThan(9);
    expect(refusals.length).toBeGreaterThan(1);
    expect(vectors()).toHaveLength(15);
  });

  describe('a recorded converse stream becomes chat chunks with its facts, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, recording) => {
      const { body } = recording;
      const results = await Promise.all(frameCuts(body).map((cuts) => streamed(body, { cuts })));
      for (const answer of results) expectStreamed(recording, answer);
    });
  });

  describe('a recorded converse answer becomes a chat completion with its facts', () => {
    it.each(named(answers))('%s', async (_name, recording) => {
      const { body } = recording;
      const results = await Promise.all(cutsFor(body).map((cuts) => whole(body, { cuts })));
      for (const answer of results) expectWhole(recording, answer);
    });
  });

  it('checksums are not validated: a stream with wrong ones gives the same chunks', async () => {
    for (const recording of some) {
      const body = Buffer.from(recording.body);
      for (const start of frameStarts(body)) {
        body.writeUInt32BE(0x0bad0bad, start + 8);
        body.writeUInt32BE(0x0bad0bad, start + body.readUInt32BE(start) - 4);
      }
      expectStreamed(recording, await streamed(body));
    }
  });

  it('an ARN is accepted as a model id', async () => {
    const [recording] = streams as [Stream];
    expectStreamed(recording, await streamed(recording.body, {}, arn), arn);
  });

  const askFor: AskFor = ({ body, ...recorded }, stream, { cuts, status, contentType } = {}) =>
    ask(
      {
        body,
        status: status ?? recorded.status ?? 200,
        headers: { 'content-type': contentType ?? recorded.contentType ?? 'application/json' },
        ...(cuts === undefined ? {} : { cuts }),
      },
      { model: model.id, stream },
    );
  describeRefusals(refusals, askFor, [false, true]);

  describe('a published vector, which is not an answer, becomes one structured error without [DONE]', () => {
    it.each(named(vectors()))('%s', async (_name, { body, facts }) => {
      // None of them has a message type, accepted or not; one has a byte less than it announces.
      const cut = facts.expectWithoutChecksums === 'reject: total length 62 but 61 bytes present';
      const results = await Promise.all(cutsFor(body).map((cuts) => streamed(body, { cuts })));
      for (const answer of results)
        expectStreamFailure(answer, readStream(answer.bytes), cut ? premature : malformed);
    });

    it.each(named(vectors()))('%s, in the middle of an answer', async (_name, { body }) => {
      const [{ body: stream }] = some as [Stream];
      const half = framesOf(stream)[1]!.end;
      const answer = await streamed(Buffer.concat([stream.subarray(0, half), body, stream.subarray(half)]));
      expectStreamFailure(answer, readStream(answer.bytes), malformed);
    });
  });

  describe('a stream of another call has no event of an answer and fails as incomplete', () => {
    it.each(named(invokeStreams()))('%s', async (_name, { body }) => {
      const answer = await streamed(body);
      expectStreamFailure(answer, readStream(answer.bytes), premature);
    });
  });

  describe('a stream that is cut before its stop or inside a frame ends with one structured error and no [DONE]', () => {
    it.each(named(some))('%s', async (_name, recording) => {
      const { body } = recording;
      const stop = stopEnd(body);
      const ends = new Set(framesOf(body).map(({ end }) => end));
      await Promise.all(
        lengthsAround(body, [stop]).flatMap((after) =>
          (['end', 'break', 'reset'] as const).map(async (kind) => {
            const answer = await streamed(body, { ending: { kind, after } });
            const received = readStream(answer.bytes);
            const message = kind === 'end' ? premature : /connection to the upstream/;
            if (after < stop || !ends.has(after)) return expectStreamFailure(answer, received, message);
            const told = framesOf(body).filter(({ type, end }) => type === 'metadata' && end <= after);
            const known = told.length > 0 ? billed(recording.facts) : undefined;
            expectStreamSuccess(answer, received, known);
          }),
        ),
      );
    });
  });

  describe('a corrupted length or header becomes one structured error without [DONE]', () => {
    it.each(named(some))('%s', async (_name, { body }) => {
      const stop = stopEnd(body);
      const starts = frameStarts(body).filter((start) => start < stop);
      const random = randomNumbers(body.length);
      const corrupted = corruptions.flatMap(({ at, change }) =>
        [0, 1, 2].map(() => {
          const bytes = Buffer.from(body);
          const place = starts[Math.floor(random() * starts.length)]! + at;
          bytes[place] = change(bytes[place]!, random());
          return bytes;
        }),
      );
      await Promise.all(
        corrupted.map(async (bytes) => {
          const answer = await streamed(bytes, { cuts: { kind: 'random', seed: 3 } });
          expectStreamFailure(answer, readStream(answer.bytes));
        }),
      );
    });
  });

  describe('an exception between any two frames becomes one structured error, and nothing of the answer follows', () => {
    it.each(named(some))('%s', async (_name, { body }) => {
      const stop = stopEnd(body);
      const places = [...frameStarts(body).filter((start) => start < stop), stop];
      await Promise.all(
        places.map(async (place) => {
          const exception = exceptionFrame('modelStreamErrorException', { message: 'It broke.' });
          const bytes = Buffer.concat([body.subarray(0, place), exception, body.subarray(place)]);
          const answer = await streamed(bytes);
          const received = readStream(answer.bytes);
          expectStreamFailure(answer, received, 'It broke.', 502, expectCode('modelStreamErrorException'));
          const before = readStream((await streamed(body.subarray(0, place))).bytes);
          expect(received.choices).toEqual(before.choices);
        }),
      );
    });
  });
}

/** A byte of a frame, and a change that makes any frame invalid. */
const corruptions: readonly {
  readonly at: number;
  readonly change: (byte: number, random: number) => number;
}[] = [
  ...[0, 1, 2, 3].map((at) => ({ at, change: anotherByte })),
  ...[4, 5, 6, 7].map((at) => ({ at, change: anotherByte })),
  // The length of the first header's name, and the type of its value: the first is `:event-type` in all recordings.
  { at: 12, change: () => 0 },
  { at: 12, change: () => 0xff },
  { at: 24, change: (_byte, random) => 10 + Math.floor(random * 246) },
  { at: 25, change: () => 0xff },
  // A name or a value that is not UTF-8.
  { at: 14, change: () => 0xff },
  { at: 28, change: () => 0xc3 },
];

function anotherByte(byte: number, random: number): number {
  return byte ^ (1 + Math.floor(random * 255));
}

describe('cases without a recording', () => {
  const begun = Buffer.concat([
    eventFrame('messageStart', { role: 'assistant' }),
    eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }),
  ]);
  const stop = eventFrame('messageStop', { stopReason: 'end_turn' });

  it.each([
    ['throttlingException', 429],
    ['modelStreamErrorException', 502],
    ['internalServerException', 502],
    ['validationException', 400],
    ['serviceUnavailableException', 503],
    ['modelTimeoutException', 408],
    ['unheardOfException', 502],
  ])(
    '%s in a stream, at the start and later, ends it with one structured error, logged as %d',
    async (type, status) => {
      const exception = exceptionFrame(type, { message: `Told by ${type}.` });
      for (const before of [Buffer.alloc(0), begun]) {
        const answer = await streamed(Buffer.concat([before, exception, stop]));
        const received = readStream(answer.bytes);
        expectStreamFailure(answer, received, `Told by ${type}.`, status, expectCode(type));
        expect(received.choices['0']?.text ?? '').toBe(before.length === 0 ? '' : 'Hello');
      }
    },
  );

  it('an error frame of the platform ends a stream with one structured error', async () => {
    const answer = await streamed(Buffer.concat([begun, errorFrame('InternalError', 'Something.'), stop]));
    expectStreamFailure(answer, readStream(answer.bytes), 'Something.', 502, expectCode('InternalError'));
  });

  it.each([
    ['a frame below the minimum length', rawFrame(Buffer.alloc(0), Buffer.alloc(0), { total: 15 })],
    ['a frame of 4 GiB', rawFrame(Buffer.alloc(0), Buffer.alloc(0), { total: 2 ** 32 - 1 })],
    ['headers of 4 GiB', rawFrame(Buffer.alloc(0), Buffer.alloc(0), { headers: 2 ** 32 - 1 })],
    ['no headers at all', frame([], Buffer.from('{}'))],
    ['an event without a type', frame([textHeader(':message-type', 'event')], Buffer.from('{}'))],
    ['an unknown message type', frame([textHeader(':message-type', 'x')], Buffer.from('{}'))],
    [
      'an event that is not JSON',
      frame(
        [textHeader(':message-type', 'event'), textHeader(':event-type', 'contentBlockDelta')],
        Buffer.from('{'),
      ),
    ],
  ])('%s ends a stream as malformed, without waiting for the rest', async (_case, bytes) => {
    const ending = { kind: 'hang' } as const;
    const answer = await streamed(Buffer.concat([begun, bytes]), { ending });
    const received = readStream(answer.bytes);
    expectStreamFailure(answer, received, malformed);
    expect(received.choices['0']!.text).toBe('Hello');
  });

  it.each([
    [400, 400],
    [403, 502],
    [404, 404],
    [408, 408],
    [424, 502],
    [429, 429],
    [500, 502],
    [503, 503],
  ])('status %d becomes %d, with the message and Retry-After of the upstream', async (status, told) => {
    const body = '{"message":"Not now."}';
    const headers = {
      'content-type': 'application/json',
      'x-amzn-errortype': 'ThrottlingException',
      'retry-after': '7',
    };
    for (const stream of [false, true]) {
      const answer = await ask({ status, headers, body }, { model: model.id, stream });
      expectRefusal(answer, {
        status: told,
        message: 'Not now.',
        attempt: stream ? 'stream_start_error' : 'provider_error',
        upstreamStatus: status,
        labels: { code: 'ThrottlingException' },
      });
      expect(answer.headers.get('retry-after')).toBe('7');
      expect(answer.headers.has('x-amzn-errortype')).toBe(false);
    }
  });

  it.each([
    ['an answer without a message', '{"stopReason":"end_turn"}'],
    ['HTML', '<html>'],
    ['an empty body', ''],
  ])('%s becomes 502', async (_case, body) => {
    const answer = await whole(body);
    expectRefusal(answer, { status: 502, attempt: 'provider_error', upstreamStatus: 200 });
  });
});

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
