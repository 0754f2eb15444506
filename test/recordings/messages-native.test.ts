import { describe, expect, it } from '@jest/globals';
import type { Cuts, Replay } from '../support/replay-upstream.ts';
import { unwrappedStreams } from './bedrock-library.ts';
import {
  expectMessagesError,
  expectRefusal,
  expectStreamFailure,
  expectSuccessRows,
} from './expectations.ts';
import { leftOut } from './left-out.ts';
import {
  type MessagesFacts,
  messagesRecordings,
  type MessagesStreamFacts,
  type MessagesUsageFacts,
  noRecordings,
  type Recording,
  type UsageFacts,
  named,
} from './library.ts';
import {
  expectCredentials,
  onPlatformA,
  onPlatformB,
  type PlatformModel,
  platformRehearsal,
} from './platforms.ts';
import { factsOf, listOf, type Loose, readEvents, sha256 } from './received.ts';
import { readMessages } from './received-messages.ts';
import type { Answer } from './rehearsal.ts';
import { cutsFor, lengthsAround } from './cuts.ts';
import { type AskFor, describeRefusals } from './replaying.ts';

const onA: PlatformModel = {
  id: 'on-a',
  ...onPlatformA('anthropic/claude-opus-4-6', ['rawPredict', 'streamRawPredict']),
};
const onEndpointB: PlatformModel = {
  id: 'on-endpointb',
  ...onPlatformB('endpointb_messages', 'anthropic.claude-opus-4-6'),
};
const onInvoke: PlatformModel = {
  id: 'on-invoke',
  ...onPlatformB('runtime_messages', 'us.anthropic.claude-opus-4-6-v1:0'),
};
const all = [onA, onEndpointB, onInvoke];
const streaming = [onA, onEndpointB];

const { ask } = platformRehearsal(all);

const family = 'messages';
const streamed = (
  body: Buffer | string,
  { id }: PlatformModel,
  more: Partial<Replay> = {},
): Promise<Answer> =>
  ask(
    { body, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, ...more },
    { model: id, stream: true, family },
  );
const whole = (body: Buffer, { id }: PlatformModel, more: Partial<Replay>): Promise<Answer> =>
  ask(
    { body, headers: { 'content-type': 'application/json' }, ...more },
    { model: id, stream: false, family },
  );

/** Input, cache read and cache write are the prompt (rule 36.10). */
function usageOf(...parts: readonly MessagesUsageFacts[]): UsageFacts {
  const {
    input_tokens = 0,
    output_tokens = 0,
    cache_read = 0,
    cache_write = 0,
  } = Object.assign({}, ...parts) as MessagesUsageFacts;
  const prompt_tokens = input_tokens + cache_read + cache_write;
  return { prompt_tokens, completion_tokens: output_tokens, total_tokens: prompt_tokens + output_tokens };
}

type Stream = Recording<MessagesStreamFacts>;

const vertexEvent = Buffer.from('event: vertex_event\ndata: {"type":"vertex_event"}\n\n');

/** A stream with the additional events of platform A between all others. */
const interleaved = (body: Buffer): Buffer =>
  Buffer.concat([vertexEvent, ...readEvents(body).flatMap(({ wire }) => [wire, vertexEvent])]);

const interleavedCuts: readonly Cuts[] = [{ kind: 'whole' }, { kind: 'random', seed: 4 }];

/** The caller's body went upstream, with the model and the version where each style requires them. */
function expectSent(answer: Answer, model: PlatformModel, stream: boolean): void {
  const own = {
    [onA.id]: { anthropic_version: 'vertex-2023-10-16' },
    [onEndpointB.id]: { model: onEndpointB.upstreamModel },
    [onInvoke.id]: { anthropic_version: 'bedrock-2023-05-31' },
  };
  expect(answer.upstream!.body).toEqual({
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hi' }],
    ...own[model.id],
    ...(stream ? { stream: true } : {}),
  });
  expect(answer.upstream!.headers['anthropic-version']).toBe(
    model === onEndpointB ? '2023-06-01' : undefined,
  );
  expectCredentials(answer, model);
}

const isHosted = (type: unknown): boolean => String(type).endsWith('tool_use');

const nothing = sha256('');

/** The caller received the bytes that the upstream sent, with their facts and one `message_stop` at the end. */
function expectStream({ body, facts }: Stream, answer: Answer): void {
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(answer.bytes.equals(body)).toBe(true);
  const received = readMessages(answer.bytes);
  expect(received.eventTypes).toEqual(facts.eventTypes);
  expect({ dones: received.dones, errors: received.errors }).toEqual({ dones: 0, errors: [] });
  expect(JSON.parse(received.payloads.at(-1)!)).toMatchObject({ type: 'message_stop' });
  expect(factsOf(received.text)).toEqual({ chars: facts.text.chars, sha256: facts.text.sha256 });
  expect(received.stopReason).toBe(facts.stop_reason);
  expect(
    received.blocks.map(({ index, type, thinking, input }) => [index, type, sha256(thinking), sha256(input)]),
  ).toEqual(
    facts.blocks.map(({ index, type, thinking, inputJsonSha256: input = nothing }) => [
      index,
      type,
      thinking?.sha256 ?? nothing,
      input,
    ]),
  );
  expectSuccessRows(answer, usageOf(facts.startUsage, facts.deltaUsage));
  expect(answer.after.logs[0]).toMatchObject({
    invoked_tool_count: facts.blocks.filter(({ type }) => isHosted(type)).length,
    metadata_json: { operation: 'messages', stream: true },
  });
}

function expectWhole({ body, facts }: Recording<MessagesFacts>, answer: Answer): void {
  expect(answer.bytes.equals(body)).toBe(true);
  expectSuccessRows(answer, usageOf(facts.usage));
  const message = JSON.parse(answer.bytes.toString()) as Loose;
  const blocks = listOf(message['content']);
  expect(blocks.map(({ type }) => type)).toEqual(facts.blocks);
  expect(message['stop_reason']).toBe(facts.stop_reason);
  const text = blocks.map((block) => (block['type'] === 'text' ? String(block['text']) : '')).join('');
  expect(factsOf(text)).toEqual({ chars: facts.text.chars, sha256: facts.text.sha256 });
  expect(answer.after.logs[0]).toMatchObject({
    invoked_tool_count: facts.blocks.filter(isHosted).length,
    metadata_json: { operation: 'messages', stream: false },
  });
}

const overloaded = Buffer.from(
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
);

/** The last event is one `event: error` of the messages family; no `message_stop` and no `[DONE]`. */
function expectFailure(answer: Answer, message: string | RegExp): void {
  const received = readMessages(answer.bytes);
  expect(received.eventTypes['message_stop']).toBeUndefined();
  expectStreamFailure(answer, received, message, 502, expectMessagesError(502, answer.requestId));
}

const expectMessagesRefusal: typeof expectRefusal = (answer, expected) =>
  expectRefusal(
    answer,
    expected,
    expectMessagesError(expected.status, answer.requestId, expected.labels?.type),
  );

/** The length at which the first `message_stop` is complete. */
const stopEnd = (body: Buffer): number =>
  readEvents(body).find(({ data }) => (JSON.parse(data) as Loose)['type'] === 'message_stop')!.to;

function replayed(): void {
  const recordings = messagesRecordings();
  const isGlued = ({ facts }: Stream): boolean => (facts.eventTypes['message_stop'] ?? 0) > 1;
  const streams = [...recordings.streams.filter((each) => !isGlued(each)), ...unwrappedStreams()];
  const short = streams.toSorted((a, b) => a.body.length - b.body.length).slice(0, 4);

  it('recordings of streams, of whole answers and of errors exist', () => {
    expect(streams.length).toBeGreaterThan(15);
    expect(recordings.answers.length).toBeGreaterThan(15);
    expect(recordings.refusals.length).toBeGreaterThan(0);
  });

  describe('a recorded messages stream reaches a messages caller byte for byte, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, recording) => {
      const { body: own } = recording;
      const shapes = [
        { model: onA, body: own, cuts: cutsFor(own) },
        { model: onA, body: interleaved(own), cuts: interleavedCuts },
        { model: onEndpointB, body: own, cuts: cutsFor(own) },
      ];
      for (const { model, body, cuts: ways } of shapes) {
        const results = await Promise.all(ways.map((cuts) => streamed(body, model, { cuts })));
        for (const answer of results) {
          expectStream(recording, answer);
          expectSent(answer, model, true);
        }
      }
    });
  });

  describe('a recorded whole message reaches a messages caller byte for byte', () => {
    it.each(named(recordings.answers))('%s', async (_name, recording) => {
      for (const model of all) {
        const answer = await whole(recording.body, model, { cuts: { kind: 'random', seed: 5 } });
        expectWhole(recording, answer);
        expectSent(answer, model, false);
      }
    });
  });

  it('of two concatenated answers only the first is returned', async () => {
    const { body } = recordings.streams.find(isGlued)!;
    for (const model of streaming) {
      const answer = await streamed(body, model);
      const received = readMessages(answer.bytes);
      expect(received.eventTypes).toMatchObject({ message_start: 1, message_stop: 1 });
      expect(body.subarray(0, answer.bytes.length).equals(answer.bytes)).toBe(true);
      expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
    }
  });

  for (const model of all)
    describe(`on ${model.id}`, () => {
      const askFor: AskFor = ({ body, ...recorded }, stream, { cuts, status, contentType } = {}) =>
        ask(
          {
            body,
            status: status ?? recorded.status ?? 200,
            headers: { 'content-type': contentType ?? recorded.contentType ?? 'application/json' },
            ...(cuts === undefined ? {} : { cuts }),
          },
          { model: model.id, stream, family },
        );
      const kinds = model === onInvoke ? [false] : [false, true];
      describeRefusals(recordings.refusals, askFor, kinds, expectMessagesRefusal);
    });

  describe('a stream that is cut at any byte is complete only after its `message_stop`', () => {
    it.each(named(short))('%s', async (_name, recording) => {
      const { body } = recording;
      const stop = stopEnd(body);
      const events = readEvents(body);
      await Promise.all(
        streaming.flatMap((model) =>
          lengthsAround(body, [stop, events.at(-2)!.to]).flatMap((after) =>
            (['end', 'break', 'reset'] as const).map(async (kind) => {
              const answer = await streamed(body, model, { ending: { kind, after } });
              if (after >= stop) return expectStream(recording, answer);
              const before = Buffer.concat(events.filter(({ to }) => to <= after).map(({ wire }) => wire));
              expect(answer.bytes.subarray(0, before.length).equals(before)).toBe(true);
              expectFailure(
                answer,
                kind === 'end' ? /before the answer was complete/ : /connection to the upstream/,
              );
            }),
          ),
        ),
      );
    });
  });

  describe('an error between any two events becomes one `event: error`, and nothing of the answer follows', () => {
    it.each(named(short))('%s', async (_name, { body }) => {
      const events = readEvents(body).map(({ wire }) => wire);
      await Promise.all(
        streaming.flatMap((model) =>
          events.map(async (_event, at) => {
            const before = Buffer.concat(events.slice(0, at));
            const broken = Buffer.concat([before, overloaded, ...events.slice(at)]);
            const answer = await streamed(broken, model);
            expectFailure(answer, 'Overloaded');
            expect(answer.bytes.subarray(0, before.length).equals(before)).toBe(true);
            expect(readMessages(answer.bytes).payloads).toHaveLength(at + 1);
          }),
        ),
      );
    });
  });
}

describe('cases without a recording', () => {
  const start =
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n';

  it.each([
    ['cut JSON', 'event: content_block_start\ndata: {"type":\n\n', /malformed/],
    ['HTML', 'data: <html>\n\n', /malformed/],
    ['[DONE]', 'data: [DONE]\n\n', /before the answer was complete/],
    ['a chat error event', 'data: {"error":{"message":"No."}}\n\n', 'No.'],
  ])('%s in a stream becomes one `event: error`', async (_case, wrong, message) => {
    for (const model of streaming) {
      const answer = await streamed(start + wrong, model);
      expectFailure(answer, message);
      expect(readMessages(answer.bytes).eventTypes).toEqual({ message_start: 1, error: 1 });
    }
  });

  it.each([
    [400, 400],
    [401, 502],
    [403, 502],
    [404, 404],
    [413, 413],
    [422, 422],
    [429, 429],
    [500, 502],
    [503, 503],
    [529, 503],
  ])('status %d becomes %d, with the message and Retry-After of the upstream', async (status, told) => {
    for (const model of all)
      for (const stream of model === onInvoke ? [false] : [false, true]) {
        const body =
          model === onInvoke
            ? '{"message":"Not now."}'
            : '{"type":"error","error":{"type":"rate_limit_error","message":"Not now."},"request_id":"r"}';
        const headers = { 'content-type': 'application/json', 'retry-after': '7' };
        const answer = await ask({ status, headers, body }, { model: model.id, stream, family });
        expectMessagesRefusal(answer, {
          status: told,
          message: 'Not now.',
          attempt: stream ? 'stream_start_error' : 'provider_error',
          upstreamStatus: status,
          // An error about the gateway's own key has no type, since the caller would take it for an error of its key.
          labels: model === onInvoke || [401, 403].includes(status) ? {} : { type: 'rate_limit_error' },
        });
        expect(answer.headers.get('retry-after')).toBe('7');
      }
  });

  it('a stream on invoke, which has no streaming path, is rejected with 400 without an attempt', async () => {
    const answer = await streamed('', onInvoke);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', details: { error_code: 'invalid_request' } },
    });
    expect(answer.upstream).toBeUndefined();
    expect(answer.after).toMatchObject({ attempts: [], ledger: [] });
  });
});

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
