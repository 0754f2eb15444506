import { describe, expect, it } from '@jest/globals';
import { randomNumbers, type Replay } from '../support/replay-upstream.ts';
import { unwrappedStreams } from './bedrock-library.ts';
import {
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from './expectations.ts';
import { leftOut } from './left-out.ts';
import {
  messagesRecordings,
  type MessagesUsageFacts,
  noRecordings,
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
import { factsOf, isLoose, listOf, type Loose, readEvents, readStream, sha256 } from './received.ts';
import type { Answer, Ask } from './rehearsal.ts';
import { cutsFor } from './cuts.ts';
import { type AskFor, describeRefusals } from './replaying.ts';

/** Models on messages upstreams, which chat callers use. */
const onA: PlatformModel = {
  id: 'anthropic/claude-opus-4-6',
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

const limited = '"max_tokens":100';
const asked = (stream: boolean, { id }: PlatformModel, more: string = limited): Ask => ({
  model: id,
  stream,
  more,
});
const streamed = (
  body: string | Buffer,
  more: Partial<Replay> = {},
  model: PlatformModel = onA,
): Promise<Answer> =>
  ask({ body, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, ...more }, asked(true, model));
const whole = (body: string | Buffer, more?: string, model: PlatformModel = onA): Promise<Answer> =>
  ask({ body, headers: { 'content-type': 'application/json' } }, asked(false, model, more));

const usageOf = (...parts: readonly MessagesUsageFacts[]): UsageFacts => {
  const {
    input_tokens = 0,
    output_tokens = 0,
    cache_read = 0,
    cache_write = 0,
  } = Object.assign({}, ...parts) as MessagesUsageFacts;
  const prompt_tokens = input_tokens + cache_read + cache_write;
  return { prompt_tokens, completion_tokens: output_tokens, total_tokens: prompt_tokens + output_tokens };
};

const vertexEvent = 'event: vertex_event\ndata: {"type":"vertex_event"}\n\n';

/** The members that each platform adds to a body. */
const said = {
  [onA.id]: { anthropic_version: 'vertex-2023-10-16' },
  [onEndpointB.id]: { model: onEndpointB.upstreamModel },
  [onInvoke.id]: { anthropic_version: 'bedrock-2023-05-31' },
};

/** The upstream received the body with the version of the platform in place of the model, or with the model. */
function expectSent(answer: Answer, model: PlatformModel, stream: boolean): void {
  expect(answer.upstream?.body).toEqual({
    max_tokens: 100,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    ...said[model.id],
    ...(stream ? { stream: true } : {}),
  });
  expectCredentials(answer, model);
}

function replayed(): void {
  const recordings = messagesRecordings();
  const streams = [
    ...recordings.streams.filter(({ facts }) => facts.eventTypes['message_stop'] === 1),
    ...unwrappedStreams(),
  ];

  describe('a recorded messages stream of either platform becomes chat chunks, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, { body, facts }) => {
      const interleaved = Buffer.concat(
        readEvents(body).flatMap(({ wire }) => [Buffer.from(vertexEvent), wire]),
      );
      const shapes = [
        { model: onA, sent: body },
        { model: onA, sent: interleaved },
        { model: onEndpointB, sent: body },
      ];
      for (const { model, sent } of shapes)
        for (const answer of await Promise.all(
          cutsFor(sent).map((cuts) => streamed(sent, { cuts }, model)),
        )) {
          const received = readStream(answer.bytes);
          expectStreamSuccess(answer, received, usageOf(facts.startUsage, facts.deltaUsage));
          expect(factsOf(received.choices['0']!.text)).toEqual({
            chars: facts.text.chars,
            sha256: facts.text.sha256,
          });
          const uses = facts.blocks.filter(({ type }) => type === 'tool_use');
          expect(received.toolCalls.map(({ id, name }) => ({ id, name }))).toEqual(
            uses.map(({ id, name }) => ({ id, name })),
          );
          for (const chunk of received.chunks)
            expect(chunk).toMatchObject({ model: model.id, object: 'chat.completion.chunk' });
          expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: uses.length });
          expectSent(answer, model, true);
        }
    });
  });

  describe('a recorded whole message of either platform becomes a chat completion', () => {
    it.each(named(recordings.answers))('%s', async (_name, { body, facts }) => {
      for (const model of all) {
        const answer = await whole(body, limited, model);
        expectSuccessRows(answer, usageOf(facts.usage));
        const completion = JSON.parse(answer.bytes.toString()) as Loose;
        const message = listOf(completion['choices'])[0]!['message'] as Loose;
        expect(sha256(typeof message['content'] === 'string' ? message['content'] : '')).toBe(
          facts.text.sha256,
        );
        expect(
          listOf(message['tool_calls']).map(({ id, function: callee }) => ({ id, ...(callee as object) })),
        ).toEqual(
          facts.toolUses.map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) })),
        );
        expect(completion).toMatchObject({ model: model.id, object: 'chat.completion' });
        expectSent(answer, model, false);
      }
    });
  });

  const askFor: AskFor = ({ body, ...recorded }, stream, { cuts, status, contentType } = {}) =>
    ask(
      {
        body,
        status: status ?? recorded.status ?? 200,
        headers: { 'content-type': contentType ?? recorded.contentType ?? 'application/json' },
        ...(cuts === undefined ? {} : { cuts }),
      },
      asked(stream, onA),
    );
  describeRefusals(recordings.refusals, askFor, [false, true]);

  it('a stream that ends before its stop reason ends with one structured error and no [DONE]', async () => {
    const { body } = streams.find(({ features }) => features.includes('tools_parallel'))!;
    const random = randomNumbers(7);
    const stopAt = body.indexOf('event: message_delta');
    await Promise.all(
      [0, ...Array.from({ length: 5 }, () => Math.floor(random() * stopAt))].flatMap((after) =>
        (['end', 'break', 'reset'] as const).map(async (kind) => {
          const model = after % 2 === 0 ? onA : onEndpointB;
          const answer = await streamed(body, { ending: { kind, after } }, model);
          const message = kind === 'end' ? /before the answer was complete/ : /connection to the upstream/;
          expectStreamFailure(answer, readStream(answer.bytes), message);
        }),
      ),
    );
  });
}

describe('cases without a recording', () => {
  const start =
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n';
  const hello =
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n';

  it('an overload error in the middle of a stream ends it with one structured error', async () => {
    const error =
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';
    for (const model of streaming) {
      const answer = await streamed(start + vertexEvent + hello + error, {}, model);
      const received = readStream(answer.bytes);
      expectStreamFailure(answer, received, 'Overloaded');
      expect(received.choices['0']!.text).toBe('Hello');
    }
  });

  it.each([
    [429, 429],
    [529, 503],
    [500, 502],
    [403, 502],
  ])('status %d becomes %d, with the message and Retry-After of the upstream', async (status, told) => {
    const body = '{"type":"error","error":{"type":"overloaded_error","message":"Not now."},"request_id":"r"}';
    const headers = { 'content-type': 'application/json', 'retry-after': '7' };
    for (const model of all)
      for (const stream of model === onInvoke ? [false] : [false, true]) {
        const answer = await ask({ status, headers, body }, asked(stream, model));
        expectRefusal(answer, {
          status: told,
          message: 'Not now.',
          attempt: stream ? 'stream_start_error' : 'provider_error',
          upstreamStatus: status,
        });
        expect(answer.headers.get('retry-after')).toBe('7');
      }
  });

  it('an error of invoke in the AWS format keeps its message', async () => {
    const answer = await ask(
      { status: 400, headers: { 'content-type': 'application/json' }, body: '{"message":"No such model."}' },
      asked(false, onInvoke),
    );
    expectRefusal(answer, { status: 400, message: 'No such model.', attempt: 'provider_error' });
  });

  it.each([
    ['max_tokens', '"max_tokens":0'],
    ['thinking.type', `${limited},"reasoning_effort":"low","thinking":{"type":"disabled"}`],
    ['seed', `${limited},"seed":7`],
    ['messages[0].content[0].type', `${limited},"messages":[{"role":"user","content":[{"type":"table"}]}]`],
  ])('%s that cannot be sent is rejected with 400 and named, without an attempt', async (param, more) => {
    for (const model of all) {
      const answer = await whole('{}', more, model);
      expect(answer.status).toBe(400);
      const body = JSON.parse(answer.bytes.toString()) as Loose;
      const error = isLoose(body['error']) ? body['error'] : {};
      expect(error['code']).toBe('invalid_request');
      expect(`${String(error['param'])} ${String(error['message'])}`).toContain(param);
      expect(answer.upstream).toBeUndefined();
      expect(answer.after).toMatchObject({ attempts: [], ledger: [] });
    }
  });
});

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
