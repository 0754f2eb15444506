import { describe, expect, it } from '@jest/globals';
import type { Cuts } from '../support/replay-upstream.ts';
import { leftOut } from './left-out.ts';
import {
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from './expectations.ts';
import {
  type ChatFacts,
  type ChatStreamFacts,
  chatRecordings,
  type ErrorFacts,
  noRecordings,
  type Recording,
  type TextFacts,
  type ToolCallFacts,
  type UsageFacts,
} from './library.ts';
import {
  contentText,
  eventData,
  factsOf,
  isLoose,
  listOf,
  type Loose,
  readStream,
  type ReceivedStream,
  sha256,
  thinkingParts,
} from './received.ts';
import { type Answer, rehearsal, replayConfig } from './rehearsal.ts';

const { streams, answers, refusals } = chatRecordings();
const all = [...streams, ...answers, ...refusals].map(({ name }) => name);

/** A model for each recording; the names of recordings are too free for model ids. */
const modelOf = ({ name }: Pick<Recording<unknown>, 'name'>): string => `recording-${all.indexOf(name)}`;

const named = <R extends { readonly name: string }>(recordings: readonly R[]): [string, R][] =>
  recordings.map((recording) => [recording.name, recording]);

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);

function replayed(): void {
  const { ask } = rehearsal((url, key) =>
    replayConfig(
      url,
      key,
      all.map((name) => modelOf({ name })),
    ),
  );

  const askFor = (
    recording: Recording<unknown>,
    stream: boolean,
    over: { readonly cuts?: Cuts; readonly status?: number; readonly contentType?: string } = {},
  ): Promise<Answer> => {
    const contentType = over.contentType ?? recording.contentType;
    return ask(
      {
        status: over.status ?? recording.status ?? 200,
        headers: contentType === undefined ? {} : { 'content-type': contentType },
        body: recording.body,
        ...(over.cuts === undefined ? {} : { cuts: over.cuts }),
      },
      { model: modelOf(recording), stream },
    );
  };

  it('finds recordings of streams and of whole answers', () => {
    expect(streams.length).toBeGreaterThan(0);
    expect(answers.length).toBeGreaterThan(0);
  });

  describe('a recorded chat stream reaches the caller as its metadata have it, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, recording) => {
      const contentType = recording.contentType ?? 'text/event-stream';
      const results = await Promise.all(
        cutsFor(recording.body).map((cuts) => askFor(recording, true, { cuts, contentType })),
      );
      for (const result of results) {
        if (!isGlued(recording.body)) expectStream(recording.facts, result);
        expect(result.bytes.equals(results[0]!.bytes)).toBe(true);
      }
    });
  });

  describe('a recorded whole answer reaches the caller byte for byte, unless a rule changed it', () => {
    it.each(named(answers))('%s', async (_name, recording) => {
      const answer = await askFor(recording, false, { cuts: { kind: 'random', seed: 5 } });
      if (isChatCompletion(recording.body)) expectAnswer(recording, answer);
      else expectRefusal(answer, { status: 502, attempt: 'provider_error' });
    });
  });

  describe('a recorded refusal becomes the status and the envelope that the contract has for it', () => {
    it.each(named(refusals))('%s', async (_name, recording) => {
      const status = recording.status ?? 400;
      for (const stream of [false, true]) {
        const answer = await askFor(recording, stream, { status });
        expectRefusal(answer, {
          status: callerStatus(status),
          attempt: stream ? 'stream_start_error' : 'provider_error',
          upstreamStatus: status,
          ...messageOf(recording),
        });
      }
    });

    it.each(named(refusals))('%s, and under status 200 it is an error too', async (_name, recording) => {
      for (const stream of [false, true]) {
        const answer = await askFor(recording, stream, { status: 200, contentType: 'application/json' });
        expect([400, 502]).toContain(answer.status);
        expectRefusal(answer, {
          status: answer.status,
          attempt: stream ? 'stream_start_error' : 'provider_error',
          ...messageOf(recording),
        });
      }
    });
  });
}

/** Several answers in one body: the first `[DONE]` ends the stream, and the facts are those of all of them. */
function isGlued(body: Buffer): boolean {
  const payloads = eventData(body);
  const done = payloads.indexOf('[DONE]');
  return done >= 0 && payloads.slice(done).some((payload) => payload !== '[DONE]');
}

/** Byte by byte for bodies that are short enough; random cuts, and every awkward place, for all. */
function cutsFor(body: Buffer): readonly Cuts[] {
  const cuts: Cuts[] = [
    { kind: 'whole' },
    { kind: 'random', seed: 1 },
    { kind: 'random', seed: 2 },
    { kind: 'at', offsets: awkward(body) },
  ];
  return body.length <= 4096 ? [...cuts, { kind: 'bytes' }] : cuts;
}

const LF = 0x0a;

/** Around line ends and inside UTF-8 sequences. */
const awkward = (body: Buffer): readonly number[] =>
  [...body.keys()].filter((at) => body[at] === LF || ((body[at] ?? 0) & 0xc0) === 0x80);

function expectStream(facts: ChatStreamFacts, answer: Answer): void {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    expectRefusal(answer, { status: 502, attempt: 'stream_start_error' });
    return;
  }
  const received = readStream(answer.bytes);
  if (facts.error !== undefined) expectStreamFailure(answer, received, beginsWith(facts.error.message ?? ''));
  else if (isTerminated(facts)) expectWhole(facts, answer, received);
  else expectStreamFailure(answer, received, /before the answer was complete/);
  expectChoices(facts, received);
  expectToolCalls(facts.toolCalls ?? [], received.toolCalls);
  for (const chunk of received.chunks) expectCanonical(chunk);
}

function expectWhole(facts: ChatStreamFacts, answer: Answer, received: ReceivedStream): void {
  expectStreamSuccess(answer, received, facts.usage ?? facts.xGroqUsage);
  expect(received.chunks).toHaveLength(facts.chunks);
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: facts.toolCalls?.length ?? 0 });
  if (facts.usage !== undefined) expect(received.usage).toMatchObject(tokens(facts.usage));
}

/** As far as there is nothing in it that has to be taken out. */
const beginsWith = (text: string): RegExp =>
  new RegExp(`^${text.replace(/:\/\/.*/s, '').replaceAll(/[^\w ]/g, String.raw`\$&`)}`);

/** A non-empty finish reason or `[DONE]`; payload lists are framed with one. */
const isTerminated = ({ choices, sse }: ChatStreamFacts): boolean =>
  sse === undefined || sse.done || Object.values(choices).some(({ finish_reason }) => Boolean(finish_reason));

const tokens = ({ prompt_tokens, completion_tokens, total_tokens }: UsageFacts): UsageFacts => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
});

function expectChoices({ choices }: ChatStreamFacts, received: ReceivedStream): void {
  expect(Object.keys(received.choices).sort()).toEqual(Object.keys(choices).sort());
  for (const [index, facts] of Object.entries(choices)) {
    const choice = received.choices[index]!;
    expect(choice.finishReason).toBe(facts.finish_reason || null);
    expectText(facts.text, choice.text);
    // Two keys that say the same are not told apart by the metadata.
    if (facts.reasoning !== undefined && facts.reasoningKeys?.length === 1)
      expectText(facts.reasoning, choice.reasoning);
    if (facts.reasoning === undefined) expect(choice.reasoning).toBe('');
  }
}

const expectText = ({ chars, sha256 }: TextFacts, text: string): void =>
  expect(factsOf(text)).toEqual({ chars, sha256 });

function expectToolCalls(
  facts: readonly ToolCallFacts[],
  calls: readonly {
    readonly key?: string;
    readonly id: unknown;
    readonly name: unknown;
    readonly arguments: string;
  }[],
): void {
  // A piece without index and id has no key of its own.
  const keyed = calls.every(({ key }) => key?.endsWith(':?') !== true);
  expect(
    calls.map(({ key, id, name, arguments: text }) => ({
      key: keyed ? key : undefined,
      id: id ?? null,
      name: name ?? null,
      argumentsSha256: sha256(text),
    })),
  ).toEqual(
    facts.map(({ key, id, name, argumentsSha256 }) => ({
      key: keyed ? key : undefined,
      id: id ?? null,
      name: name ?? null,
      argumentsSha256,
    })),
  );
}

/** Reasoning is in the canonical place, and usage at the top. */
function expectCanonical(chunk: Loose): void {
  for (const { delta, usage } of listOf(chunk['choices'])) {
    if (chunk['usage'] === undefined || chunk['usage'] === null) expect(usage ?? null).toBeNull();
    if (!isLoose(delta)) continue;
    expect(listOf(delta['content']).filter(isThinking)).toEqual([]);
    if (delta['reasoning'] === undefined || delta['reasoning'] === null)
      expect([typeof delta['reasoning_content'], typeof delta['reasoning_text']]).not.toContain('string');
  }
}

const isThinking = ({ type }: Loose): boolean => type === 'thinking' || type === 'redacted_thinking';

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
};

function isChatCompletion(body: Buffer): boolean {
  const value = parsed(body);
  return isLoose(value) && Array.isArray(value['choices']) && (value['error'] ?? null) === null;
}

function expectAnswer({ body, facts, features }: Recording<ChatFacts>, answer: Answer): void {
  expectSuccessRows(answer, facts.usage);
  const messages = (value: unknown): readonly Loose[] =>
    isLoose(value) ? listOf(value['choices']).map(({ message }) => (isLoose(message) ? message : {})) : [];
  const recorded = messages(parsed(body));
  const received = messages(parsed(answer.bytes));
  const thinking = recorded.map(({ content }) => listOf(content).filter(isThinking));
  if (thinking.flat().length === 0) expect(answer.bytes.equals(body)).toBe(true);
  expect(received.map(thinkingParts)).toEqual(thinking);
  const choices = listOf((parsed(answer.bytes) as Loose)['choices']);
  expect(choices.map((choice) => choice['finish_reason'] ?? null)).toEqual(
    facts.choices.map(({ finish_reason }) => finish_reason ?? null),
  );
  for (const [index, message] of received.entries()) {
    const told = facts.choices[index]!;
    expect(listOf(message['content']).filter(isThinking)).toEqual([]);
    const others = listOf(recorded[index]!['content']).filter((part) => !isThinking(part));
    if (thinking[index]!.length > 0 && others.every(({ type }) => type === 'text'))
      expect(typeof message['content']).toBe('string');
    expectText(told.text, contentText(message['content']));
    expectToolCalls(told.toolCalls ?? [], wholeCalls(message));
  }
  const calls = facts.choices.flatMap(({ toolCalls }) => toolCalls ?? []).length;
  const legacy = features.includes('finish:function_call') ? 1 : 0;
  expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: calls + legacy });
}

const wholeCalls = (message: Loose) =>
  listOf(message['tool_calls']).map(({ id, function: named }) => ({
    id,
    name: isLoose(named) ? named['name'] : undefined,
    arguments: isLoose(named) ? String(named['arguments']) : '',
  }));

/** CONTRACT §4, "Upstream statuses", written down a second time. */
function callerStatus(status: number): number {
  if ([400, 404, 408, 413, 422, 429].includes(status)) return status;
  return status === 503 || status === 529 ? 503 : 502;
}

/** The upstream's own words, unless there is something in them that has to be taken out. */
function messageOf({ facts, body }: Recording<ErrorFacts>): { readonly message?: string } {
  const value = parsed(body);
  const error = isLoose(value) ? (value['error'] ?? value) : undefined;
  const message = isLoose(error) ? error['message'] : undefined;
  if (typeof message !== 'string' || facts.message === undefined) return {};
  expect(message.startsWith(facts.message)).toBe(true);
  return /:\/\/\S*[?@]/.test(message) || message.length > 1000 ? {} : { message };
}
