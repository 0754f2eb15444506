import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal, type Sealed } from '../../domain/shared/stream-machine.ts';
import { generateContentStream } from '../../infrastructure/providers/cloud-a/generate-content-stream.ts';
import { jsonArrayFrames } from '../../infrastructure/providers/wire/json-array.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { outputsOf } from '../support/machine-laws.ts';
import { randomNumbers, type Replay } from '../support/replay-upstream.ts';
import {
  expectCode,
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from './expectations.ts';
import { leftOut } from './left-out.ts';
import {
  type ContentFacts,
  contentRecordings,
  noRecordings,
  type Recording,
  type TextFacts,
  type UsageFacts,
  named,
} from './library.ts';
import { factsOf, isLoose, listOf, type Loose, readEvents, readStream } from './received.ts';
import { type Answer, type Ask, rehearsal, replayConfig } from './rehearsal.ts';
import { cutsFor, someEndLengths } from './cuts.ts';
import { type AskFor, describeRefusals, labelsOf } from './replaying.ts';

const model = 'google/gemini-2.5-pro';
const token = 'token-of-the-platform-0123456789';
const base = '/v1/projects/p-1/locations/europe-west4/publishers/google/models/gemini-2.5-pro';

const { ask } = rehearsal(
  (url, key) =>
    replayConfig(url, key, [model], {
      type: 'cloud_a_platform',
      base_url: undefined,
      project_id: 'p-1',
      location: 'europe-west4',
      api_host: new URL(url).origin,
      auth: { mode: 'bearer', token },
    }),
  ({ stream }) => `${base}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
);

const asked = (stream: boolean, more: Partial<Ask> = {}): Ask => ({ model, stream, ...more });
const stream = (body: string | Buffer, more: Replay | object = {}, type = 'text/event-stream') =>
  ask({ body, headers: { 'content-type': type }, ...more }, asked(true));
const whole = (answer: object, more: Partial<Ask> = {}) =>
  ask({ body: JSON.stringify(answer), headers: { 'content-type': 'application/json' } }, asked(false, more));

type Content = Recording<ContentFacts>;

const isArrayForm = ({ facts }: Content): boolean => facts.protocol === 'gemini-stream-json-array';

/** The finish reason that a caller must receive, independent of the product's code. */
function finishOf({ finishReason, functionCalls }: ContentFacts): string {
  if (finishReason === 'MAX_TOKENS' || finishReason === 2) return 'length';
  if (finishReason === 'STOP' || finishReason === 1 || finishReason === 'UNEXPECTED_TOOL_CALL')
    return functionCalls === undefined ? 'stop' : 'tool_calls';
  return 'content_filter';
}

/** Prompt and tool-use prompt, candidates and thoughts; without a prompt count there is no usage. */
function usageOf({ usage }: ContentFacts): UsageFacts | undefined {
  if (usage?.promptTokenCount === undefined) return undefined;
  return {
    prompt_tokens: usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0),
    completion_tokens: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
    total_tokens: usage.totalTokenCount,
  };
}

interface ToldCall {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

/** Calls are whole, or in pieces: then the recording has only their names, once for each call. */
function expectCalls({ facts, body }: Content, calls: readonly ToldCall[]): void {
  const told = typeof facts.functionCalls === 'number' ? [] : (facts.functionCalls ?? []);
  const inPieces = facts.functionCalls !== undefined && told.every(({ args }) => args === undefined);
  const names = inPieces ? namesIn(body) : told.map(({ name }) => name);
  expect(calls.map(({ name }) => name)).toEqual(names);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  for (const [index, call] of calls.entries()) {
    const args = JSON.parse(call.arguments) as object;
    if (inPieces) expect(Object.keys(args).length).toBeGreaterThan(0);
    else expect(args).toEqual(told[index]?.args);
    const { id = '' } = told[index] ?? {};
    expect(call.id).toMatch(id === '' ? /^call_[0-9a-f]{24}_0_\d+$/ : new RegExp(`^${id}$`));
  }
}

const namesIn = (body: Buffer): readonly (string | undefined)[] =>
  [...body.toString().matchAll(/"functionCall":\s*\{\s*"name":\s*"(\w+)"/g)].map(([, name]) => name);

const expectText = (facts: TextFacts | undefined, text: string): void =>
  expect(factsOf(text)).toEqual(
    facts === undefined ? factsOf('') : { chars: facts.chars, sha256: facts.sha256 },
  );

/** Reasoning is only in the platform's metadata, and has the thoughts of the recording. */
function expectReasoning({ facts, body }: Content, messages: readonly Loose[]): void {
  const own = messages.map(({ provider_metadata: metadata }) =>
    isLoose(metadata) && isLoose(metadata['cloud_a_platform']) ? metadata['cloud_a_platform'] : {},
  );
  const parts = own.flatMap(({ reasoning }) => listOf(reasoning));
  expectText(facts.thoughts, parts.map(({ thinking }) => thinking as string).join(''));
  const signatures = [...body.toString().matchAll(/"thoughtSignature":\s*"([^"]+)"/g)].map(([, each]) =>
    JSON.parse(`"${each}"`),
  );
  expect(parts.flatMap(({ signature }) => (signature === undefined ? [] : [signature]))).toEqual(signatures);
  for (const message of messages) expect(message).not.toHaveProperty('reasoning');
}

function expectStreamed(recording: Content, answer: Answer): void {
  const { facts } = recording;
  const received = readStream(answer.bytes);
  expectStreamSuccess(answer, received, usageOf(facts));
  expect(Object.keys(received.choices)).toEqual(['0']);
  expect(received.choices['0']!.finishReason).toBe(finishOf(facts));
  expectText(facts.text, received.choices['0']!.text);
  expectCalls(recording, received.toolCalls);
  expect(received.toolCalls.map(({ key }) => key)).toEqual(
    received.toolCalls.map((_, index) => `0:${index}`),
  );
  const deltas = received.chunks
    .flatMap(({ choices }) => listOf(choices))
    .map(({ delta }) => (isLoose(delta) ? delta : {}));
  expectReasoning(recording, deltas);
  expect(deltas.map(({ role }) => role).filter((role) => role !== undefined)).toEqual(['assistant']);
  const used = received.chunks.filter(({ usage }) => usage !== undefined);
  expect(used.map(({ choices }) => choices)).toEqual(usageOf(facts) === undefined ? [] : [[]]);
  if (usageOf(facts) !== undefined) expect(received.usage).toMatchObject(usageOf(facts) as Loose);
  expectNames(answer, received.chunks, 'chat.completion.chunk');
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: received.toolCalls.length });
}

function expectWhole(recording: Content, answer: Answer): void {
  const { facts } = recording;
  expectSuccessRows(answer, usageOf(facts));
  const completion = JSON.parse(answer.bytes.toString()) as Loose;
  const [choice, ...others] = listOf(completion['choices']);
  expect(others).toEqual([]);
  expect(choice!['finish_reason']).toBe(finishOf(facts));
  const message = choice!['message'] as Loose;
  expectText(facts.text, typeof message['content'] === 'string' ? message['content'] : '');
  const calls = listOf(message['tool_calls']).map(({ id, function: callee }) => ({
    id: id as string,
    ...(callee as { name: string; arguments: string }),
  }));
  expectCalls(recording, calls);
  expectReasoning(recording, [message]);
  expectNames(answer, [completion], 'chat.completion');
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: calls.length });
}

/** Translated answers have the requested model and an id that the gateway generated. */
function expectNames(answer: Answer, told: readonly Loose[], object: string): void {
  for (const each of told)
    expect(each).toMatchObject({ object, model, id: told[0]!['id'], created: told[0]!['created'] });
  expect(told[0]!['id']).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
  expect(answer.upstream?.headers['authorization']).toBe(`Bearer ${token}`);
  expect(answer.upstream?.body).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] });
}

function replayed(): void {
  const { streams, answers, refusals } = contentRecordings();

  it('recordings of streams in both framings, of whole answers and of errors exist', () => {
    expect(streams.filter(isArrayForm).length).toBeGreaterThan(0);
    expect(streams.length).toBeGreaterThan(20);
    expect(answers.length).toBeGreaterThan(15);
    expect(refusals.length).toBeGreaterThan(0);
  });

  describe('a recorded stream becomes chat chunks with its facts, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, recording) => {
      const { body, contentType = 'text/event-stream' } = recording;
      const results = await Promise.all(cutsFor(body).map((cuts) => stream(body, { cuts }, contentType)));
      for (const answer of results) expectStreamed(recording, answer);
    });
  });

  describe('a recorded whole answer becomes a chat completion with its facts', () => {
    it.each(named(answers))('%s', async (_name, recording) => {
      const headers = { 'content-type': recording.contentType ?? 'application/json' };
      const replay: Replay = { body: recording.body, headers, cuts: { kind: 'random', seed: 5 } };
      expectWhole(recording, await ask(replay, asked(false)));
    });
  });

  const askFor: AskFor = ({ body, ...recorded }, streamed, { cuts, status, contentType } = {}) => {
    const type = contentType ?? recorded.contentType;
    return ask(
      {
        body,
        status: status ?? recorded.status ?? 200,
        headers: type === undefined ? {} : { 'content-type': type },
        ...(cuts === undefined ? {} : { cuts }),
      },
      asked(streamed),
    );
  };
  describeRefusals(refusals, askFor, [false]);

  describe('a recorded error for a stream is returned as an HTTP error before any event', () => {
    it.each(named(refusals))('%s', async (_name, recording) => {
      const status = recording.status ?? 400;
      const answer = await askFor(recording, true);
      expectRefusal(answer, {
        status,
        attempt: 'stream_start_error',
        upstreamStatus: status,
        labels: labelsOf(recording, status),
      });
    });
  });

  describe('a recorded stream that is cut at any byte ends with `done` only after its finish reason', () => {
    it.each(named(streams))('%s', (_name, recording) => {
      const { body } = recording;
      const ends = isArrayForm(recording) ? elementEnds(body) : readEvents(body).map(({ to }) => to);
      const events = isArrayForm(recording)
        ? (JSON.parse(body.toString()) as unknown[]).map((each) => JSON.stringify(each))
        : readEvents(body).map(({ data }) => data);
      const finishAt = ends[events.findIndex((event) => event.includes('"finishReason"'))]!;
      const wrong: object[] = [];
      for (const length of someEndLengths(body, [finishAt]))
        for (const ending of length % 50 === 0 ? [eof, broken] : [eof]) {
          const told = outputsOf(machineOf(recording), [body.subarray(0, length)], ending);
          const last = told.filter(({ kind }) => kind !== 'chunk').map(({ kind }) => kind);
          const expected = length >= finishAt ? 'done' : 'failed';
          if (last.length !== 1 || last[0] !== expected || told.at(-1)!.kind !== expected)
            wrong.push({ length, last, expected });
        }
      expect(wrong.slice(0, 5)).toEqual([]);
    });

    it.each(named(chosen(streams)))('%s, over sockets', async (_name, recording) => {
      const { body, contentType = 'text/event-stream' } = recording;
      const random = randomNumbers(body.length);
      const finishAt = body.lastIndexOf('"finishReason"');
      const lengths = [0, ...Array.from({ length: 3 }, () => Math.floor(random() * finishAt))];
      await Promise.all(
        lengths.flatMap((after) =>
          (['end', 'break', 'reset'] as const).map(async (kind) => {
            const answer = await stream(body, { ending: { kind, after } }, contentType);
            const message = kind === 'end' ? /before the answer was complete/ : /connection to the upstream/;
            expectStreamFailure(answer, readStream(answer.bytes), message);
          }),
        ),
      );
      const finished = await stream(body, { ending: { kind: 'reset', after: body.length } }, contentType);
      expectStreamed(recording, finished);
    });
  });

  it('a stream as a JSON array and as server-sent events gives the same chunks', async () => {
    const recording = streams.find(isArrayForm)!;
    const elements = JSON.parse(recording.body.toString()) as unknown[];
    const events = elements.map((each) => `data: ${JSON.stringify(each)}\r\n\r\n`).join('');
    const both = [await stream(events), await stream(recording.body, {}, 'application/json; charset=UTF-8')];
    const [first, second] = both.map(({ bytes }) =>
      bytes.toString().replaceAll(/chatcmpl-\w+|call_[0-9a-f]{32}|"created":\d+/g, ''),
    );
    expect(first).toBe(second);
  });
}

const eof: Ending = { kind: 'eof' };
const broken: Ending = { kind: 'fault', reason: 'It broke.' };

function machineOf(recording: Content): Sealed<Buffer, StreamEvent<JsonObject>> {
  const about = { id: 'chatcmpl-1', model: 'm', createdSecs: 1 };
  const frames = isArrayForm(recording) ? jsonArrayFrames : sseFrames;
  return andThen(frames, seal(generateContentStream(about, (message) => message)));
}

/** The lengths at which an element of an array is complete: where only the closing bracket is missing. */
function elementEnds(body: Buffer): readonly number[] {
  const ends: number[] = [];
  for (let length = 1; length < body.length; length += 1) {
    if (body[length - 1] !== 0x7d) continue;
    try {
      JSON.parse(`${body.subarray(0, length).toString()}]`);
      ends.push(length);
    } catch {
      // The element is not complete yet.
    }
  }
  return ends;
}

/** One of each kind: text, calls, calls in pieces, thoughts, an array. */
const chosen = (streams: readonly Content[]): readonly Content[] => [
  ...new Set(
    [
      'function_call',
      'partialArgs',
      'thought',
      'json_array_form',
      'executableCode',
      'finish:MAX_TOKENS',
    ].flatMap((feature) => streams.find(({ features }) => features.includes(feature)) ?? []),
  ),
];

describe('cases without a recording', () => {
  const event = (of: object): string => `data: ${JSON.stringify(of)}\r\n\r\n`;
  const says = (text: string) => event({ candidates: [{ content: { role: 'model', parts: [{ text }] } }] });
  const finish = event({
    candidates: [{ finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  });

  it('a blocked prompt ends normally with content_filter and without usage', async () => {
    const blocked = {
      promptFeedback: { blockReason: 'MODEL_ARMOR', blockReasonMessage: 'Blocked.' },
      usageMetadata: { trafficType: 'ON_DEMAND' },
    };
    const streamed = await stream(event(blocked));
    const received = readStream(streamed.bytes);
    expectStreamSuccess(streamed, received, undefined);
    expect(received.choices['0']).toEqual({ finishReason: 'content_filter', text: '', reasoning: '' });
    const answer = await whole(blocked);
    expectSuccessRows(answer, undefined);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({
      choices: [{ message: { content: '', refusal: 'Blocked.' }, finish_reason: 'content_filter' }],
    });
  });

  it('STOP in a later chunk than the calls becomes `tool_calls`', async () => {
    const calls = event({ candidates: [{ content: { parts: [{ functionCall: { name: 'f' } }] } }] });
    const answer = await stream(calls + finish);
    expect(readStream(answer.bytes).choices['0']!.finishReason).toBe('tool_calls');
  });

  it.each([
    [
      'an error',
      event({ error: { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' } }),
      'Overloaded.',
      'UNAVAILABLE',
    ],
    ['cut JSON', 'data: {"candidates":[\r\n\r\n', /malformed/, 'upstream_error'],
    ['HTML', 'data: <html>\r\n\r\n', /malformed/, 'upstream_error'],
  ])(
    '%s in a stream ends it with one structured error and no [DONE]',
    async (_case, wrong, message, code) => {
      const answer = await stream(says('Hello') + wrong + finish);
      const received = readStream(answer.bytes);
      expectStreamFailure(answer, received, message, 502, expectCode(code));
      expect(received.choices['0']!.text).toBe('Hello');
    },
  );

  it('a JSON error body under status 200 ends a stream with one structured error', async () => {
    const answer = await stream('{"error":{"code":429,"message":"Quota."}}', {}, 'application/json');
    expectStreamFailure(answer, readStream(answer.bytes), 'Quota.');
  });

  it.each([
    [429, 429],
    [401, 502],
    [403, 502],
    [500, 502],
    [503, 503],
  ])('status %d becomes %d, with the message and Retry-After of the upstream', async (status, told) => {
    for (const streamed of [false, true]) {
      const body = JSON.stringify([{ error: { code: status, message: 'Not now.', status: 'X' } }]);
      const headers = { 'content-type': 'application/json', 'retry-after': '7' };
      const answer = await ask({ status, headers, body }, asked(streamed));
      expectRefusal(answer, {
        status: told,
        message: 'Not now.',
        attempt: streamed ? 'stream_start_error' : 'provider_error',
        upstreamStatus: status,
        labels: { code: 'X' },
      });
      expect(answer.headers.get('retry-after')).toBe('7');
    }
  });

  it('a field that the platform cannot express is rejected with 400 and named, and nothing is sent', async () => {
    const answer = await whole({}, { more: '"logit_bias":{"1":1}' });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({
      error: { code: 'invalid_request', param: 'logit_bias' },
    });
    expect(answer.upstream).toBeUndefined();
    expect(answer.after.attempts).toEqual([]);
    expect(answer.after.ledger).toEqual([]);
  });
});

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
