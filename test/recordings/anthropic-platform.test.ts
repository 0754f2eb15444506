import { describe, expect, it } from '@jest/globals';
import { randomNumbers, type Replay } from '../support/replay-upstream.ts';
import { expectStreamFailure, expectStreamSuccess, expectSuccessRows } from './expectations.ts';
import { leftOut } from './left-out.ts';
import { messagesRecordings, type MessagesUsageFacts, noRecordings, type UsageFacts } from './library.ts';
import { factsOf, isLoose, listOf, type Loose, readEvents, readStream, sha256 } from './received.ts';
import { type Answer, type Ask, rehearsal, replayConfig } from './rehearsal.ts';
import { type AskFor, cutsFor, describeRefusals, named } from './replaying.ts';

const model = 'anthropic/claude-opus-4-6';
const token = 'token-of-the-platform-0123456789';
const base = '/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-opus-4-6';

const { ask } = rehearsal(
  (url, key) =>
    replayConfig(url, key, [model], {
      type: 'cloud_a_platform',
      base_url: undefined,
      project_id: 'p-1',
      location: 'global',
      api_host: new URL(url).origin,
      auth: { mode: 'bearer', token },
    }),
  ({ stream }) => `${base}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
);

const limited = '"max_tokens":100';
const asked = (stream: boolean, more: string = limited): Ask => ({ model, stream, more });
const streamed = (body: string | Buffer, more: Partial<Replay> = {}): Promise<Answer> =>
  ask({ body, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, ...more }, asked(true));
const whole = (body: string | Buffer, more?: string): Promise<Answer> =>
  ask({ body, headers: { 'content-type': 'application/json' } }, asked(false, more));

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

/** The body as it went upstream: without a model, and with the version of the platform. */
function expectSent({ upstream }: Answer, stream: boolean): void {
  expect(upstream?.headers['authorization']).toBe(`Bearer ${token}`);
  expect(upstream?.body).toEqual({
    max_tokens: 100,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    anthropic_version: 'vertex-2023-10-16',
    ...(stream ? { stream: true } : {}),
  });
}

function replayed(): void {
  const recordings = messagesRecordings();
  const streams = recordings.streams.filter(({ facts }) => facts.eventTypes['message_stop'] === 1);

  describe('a recorded messages stream reaches the caller of platform A as chat chunks, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, { body, facts }) => {
      const interleaved = Buffer.concat(
        readEvents(body).flatMap(({ wire }) => [Buffer.from(vertexEvent), wire]),
      );
      const results = await Promise.all(
        [body, interleaved].flatMap((each) => cutsFor(each).map((cuts) => streamed(each, { cuts }))),
      );
      for (const answer of results) {
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
          expect(chunk).toMatchObject({ model, object: 'chat.completion.chunk' });
        expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: uses.length });
        expectSent(answer, true);
      }
    });
  });

  describe('a recorded whole message reaches the caller of platform A as a chat completion', () => {
    it.each(named(recordings.answers))('%s', async (_name, { body, facts }) => {
      const answer = await whole(body);
      expectSuccessRows(answer, usageOf(facts.usage));
      const completion = JSON.parse(answer.bytes.toString()) as Loose;
      const message = listOf(completion['choices'])[0]!['message'] as Loose;
      expect(sha256(typeof message['content'] === 'string' ? message['content'] : '')).toBe(
        facts.text.sha256,
      );
      expect(listOf(message['tool_calls']).map(({ id }) => id)).toEqual(facts.toolUses.map(({ id }) => id));
      expect(completion).toMatchObject({ model, object: 'chat.completion' });
      expectSent(answer, false);
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
      asked(stream),
    );
  describeRefusals(recordings.refusals, askFor, [false, true]);

  it('a stream that breaks off before its stop reason is one structured error and no [DONE]', async () => {
    const { body } = streams.find(({ features }) => features.includes('tools_parallel'))!;
    const random = randomNumbers(7);
    const stopAt = body.indexOf('event: message_delta');
    await Promise.all(
      [0, ...Array.from({ length: 5 }, () => Math.floor(random() * stopAt))].flatMap((after) =>
        (['end', 'break', 'reset'] as const).map(async (kind) => {
          const answer = await streamed(body, { ending: { kind, after } });
          const message = kind === 'end' ? /before the answer was complete/ : /connection to the upstream/;
          expectStreamFailure(answer, readStream(answer.bytes), message);
        }),
      ),
    );
  });
}

describe('what no recording has', () => {
  const start =
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n';
  const hello =
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n';

  it('a stream that is overloaded half-way ends with its one structured error', async () => {
    const error =
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';
    const answer = await streamed(start + vertexEvent + hello + error);
    const received = readStream(answer.bytes);
    expectStreamFailure(answer, received, 'Overloaded');
    expect(received.choices['0']!.text).toBe('Hello');
  });

  it.each([
    [429, 429],
    [529, 503],
    [500, 502],
    [403, 502],
  ])('status %d becomes %d, with the upstream’s own message and its Retry-After', async (status, told) => {
    const body = '{"type":"error","error":{"type":"overloaded_error","message":"Not now."},"request_id":"r"}';
    const headers = { 'content-type': 'application/json', 'retry-after': '7' };
    for (const stream of [false, true]) {
      const answer = await ask({ status, headers, body }, asked(stream));
      expect(answer.status).toBe(told);
      expect(answer.headers.get('retry-after')).toBe('7');
      expect(JSON.parse(answer.bytes.toString())).toMatchObject({ error: { message: 'Not now.' } });
    }
  });

  it.each([
    ['max_tokens', '"temperature":1'],
    ['thinking.type', `${limited},"reasoning_effort":"low","thinking":{"type":"disabled"}`],
    ['seed', `${limited},"seed":7`],
    ['messages[0].content[0].type', `${limited},"messages":[{"role":"user","content":[{"type":"file"}]}]`],
  ])('%s: what cannot be sent is a 400 that names it, with zero attempts', async (param, more) => {
    const answer = await whole('{}', more);
    expect(answer.status).toBe(400);
    const body = JSON.parse(answer.bytes.toString()) as Loose;
    const error = isLoose(body['error']) ? body['error'] : {};
    expect(error['code']).toBe('invalid_request');
    expect(`${String(error['param'])} ${String(error['message'])}`).toContain(param);
    expect(answer.upstream).toBeUndefined();
    expect(answer.after).toMatchObject({ attempts: [], ledger: [] });
  });
});

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
