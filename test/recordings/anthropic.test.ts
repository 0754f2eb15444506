import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { MessagesObserver, observeMessage } from '../../domain/messages/observe-messages.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import type { Observation } from '../../domain/upstream/observation.ts';
import { nativeMessagesStream } from '../../infrastructure/providers/messages-body/native-stream.ts';
import { messageAsChat, readMessage } from '../../infrastructure/providers/messages-body/response.ts';
import { chatFromMessages } from '../../infrastructure/providers/messages-body/stream.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { byteByByte, cutAt } from '../support/arbitraries/bytes.ts';
import { outputsOf } from '../support/machine-laws.ts';
import { randomNumbers } from '../support/replay-upstream.ts';
import { someEndLengths } from './cuts.ts';
import { leftOut } from './left-out.ts';
import {
  type MessagesFacts,
  messagesRecordings,
  type MessagesStreamFacts,
  type MessagesUsageFacts,
  noRecordings,
  type Recording,
  named,
} from './library.ts';
import { factsOf, isLoose, listOf, type Loose, readEvents, readStream, sha256 } from './received.ts';

type Stream = Recording<MessagesStreamFacts>;
type Answer = Recording<MessagesFacts>;
type Events = readonly StreamEvent<JsonObject>[];

const namespace = 'cloud_a_platform';
const about = { id: 'chatcmpl-1', model: 'asked-for', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message;
const words = { about, namespace, sanitise };
const asChat = andThen(sseFrames, seal(chatFromMessages(words)));
const native = andThen(sseFrames, seal(nativeMessagesStream(sanitise)));
const eof: Ending = { kind: 'eof' };
const broken: Ending = { kind: 'fault', reason: 'It broke.' };

/** The finish reason that a caller must receive, independent of the product's code. */
const finishes: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** Input, cache read and cache write are the prompt (rule 36.10). */
function usageOf(...parts: readonly MessagesUsageFacts[]) {
  const {
    input_tokens = 0,
    output_tokens = 0,
    cache_read = 0,
    cache_write = 0,
  } = Object.assign({}, ...parts) as MessagesUsageFacts;
  const promptTokens = input_tokens + cache_read + cache_write;
  return { promptTokens, completionTokens: output_tokens, totalTokens: promptTokens + output_tokens };
}

const bytesOf = (events: Events): Buffer =>
  Buffer.from(
    events
      .flatMap((event) => (event.kind === 'chunk' ? [`data: ${JSON.stringify(event.chunk)}\n\n`] : []))
      .join(''),
  );

const wireOf = (events: Events): Buffer =>
  Buffer.concat(
    events.flatMap((event) => (event.kind === 'chunk' ? [event.wire ?? Buffer.from('REWRITTEN')] : [])),
  );

/** The parts under the provider's metadata in the deltas or the message. */
const nativeParts = (said: readonly Loose[], part: string): readonly Loose[] =>
  said.flatMap(({ provider_metadata: metadata }) =>
    isLoose(metadata) && isLoose(metadata[namespace]) ? listOf(metadata[namespace][part]) : [],
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Blocks that chat can express. */
const spoken = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']);

/** SHA-256 of the empty text. */
const nothing = sha256('');

function expectChat({ facts }: Stream, events: Events): void {
  const received = readStream(bytesOf(events));
  expect(events.at(-1)).toEqual({ kind: 'done' });
  expect(received.choices['0']!.finishReason).toBe(finishes[facts.stop_reason]);
  const { chars, sha256: digest } = facts.text;
  expect(factsOf(received.choices['0']!.text)).toEqual({ chars, sha256: digest });
  const uses = facts.blocks.filter(({ type }) => type === 'tool_use');
  expect(received.toolCalls.map((call) => ({ ...call, arguments: sha256(call.arguments) }))).toEqual(
    uses.map(({ id, name, inputJsonSha256: input = nothing }, index) => ({
      key: `0:${index}`,
      id,
      name,
      arguments: input === nothing ? sha256('{}') : input,
    })),
  );
  const deltas = received.chunks
    .flatMap(({ choices }) => listOf(choices))
    .map(({ delta }) => (isLoose(delta) ? delta : {}));
  expectNativeParts(facts, deltas);
  expect(received.usage).toMatchObject({
    prompt_tokens: usageOf(facts.startUsage, facts.deltaUsage).promptTokens,
    completion_tokens: usageOf(facts.startUsage, facts.deltaUsage).completionTokens,
    total_tokens: usageOf(facts.startUsage, facts.deltaUsage).totalTokens,
  });
  expect(received.chunks.filter(({ usage }) => usage !== undefined)).toHaveLength(1);
  expect(deltas.filter(({ role }) => role !== undefined)).toHaveLength(1);
}

/** Thinking blocks and blocks that chat cannot express, identified by their index. */
function expectNativeParts(facts: MessagesStreamFacts, deltas: readonly Loose[]): void {
  const reasoning = nativeParts(deltas, 'reasoning');
  const foreign = nativeParts(deltas, 'blocks');
  for (const { index, type, thinking, signatureChars = 0, inputJsonSha256: input } of facts.blocks) {
    const own = reasoning.filter((piece) => piece['index'] === index);
    if (type === 'thinking') {
      expect(factsOf(own.map((piece) => textOf(piece['thinking'])).join(''))).toEqual(
        thinking === undefined ? factsOf('') : { chars: thinking.chars, sha256: thinking.sha256 },
      );
      expect(own.map((piece) => textOf(piece['signature'])).join('')).toHaveLength(signatureChars);
    }
    if (spoken.has(type)) continue;
    const pieces = foreign.filter((piece) => piece['index'] === index);
    expect(pieces[0]).toMatchObject({ content_block: { type } });
    const text = pieces.map(({ delta }) => (isLoose(delta) ? textOf(delta['partial_json']) : '')).join('');
    if (input !== undefined) expect(sha256(text)).toBe(input);
  }
}

/** Without the other usage, which the facts do not have. */
const withoutBeside = ({ beside: _beside, ...seen }: Observation) => seen;

function expectNative({ body, facts }: Stream, events: Events): void {
  expect(wireOf(events).equals(body)).toBe(true);
  expect(events.at(-1)).toEqual({ kind: 'done' });
  expect(events.at(-2)).toMatchObject({ held: true, terminal: true, chunk: { type: 'message_stop' } });
  const observer = new MessagesObserver();
  for (const event of events) if (event.kind === 'chunk') observer.see(event.chunk);
  expect(withoutBeside(observer.observed())).toEqual({
    usage: usageOf(facts.startUsage, facts.deltaUsage),
    usageUnusable: false,
    invokedToolCount: facts.blocks.filter(({ type }) => type.endsWith('tool_use')).length,
  });
}

/** Ways to cut the bytes: whole, at random, around line ends and inside characters, and byte by byte if short. */
function cutsOf(body: Buffer): readonly (readonly Buffer[])[] {
  const random = randomNumbers(body.length);
  const some = Array.from({ length: 200 }, () => Math.floor(random() * body.length));
  const awkward = [...body.keys()].filter((at) => body[at] === 0x0a || (body[at]! & 0xc0) === 0x80);
  return [
    [body],
    cutAt(body, some),
    cutAt(body, awkward),
    ...(body.length < 20_000 ? [byteByByte(body)] : []),
  ];
}

/** A stream with the additional events of platform A between all others. */
const interleaved = (body: Buffer): Buffer =>
  Buffer.concat([vertexEvent, ...readEvents(body).flatMap(({ wire }) => [wire, vertexEvent])]);
const vertexEvent = Buffer.from('event: vertex_event\ndata: {"type":"vertex_event"}\n\n');

const overloaded = Buffer.from(
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
);

function replayed(): void {
  const { streams: all, answers, refusals } = messagesRecordings();
  // One recording is two concatenated answers: only the first is returned.
  const isGlued = ({ facts }: Stream): boolean => (facts.eventTypes['message_stop'] ?? 0) > 1;
  const streams = all.filter((each) => !isGlued(each));

  it('recordings of streams, of whole answers and of errors exist', () => {
    expect(streams.length).toBeGreaterThan(10);
    expect(all.filter(isGlued)).toHaveLength(1);
    expect(answers.length).toBeGreaterThan(15);
    expect(refusals.length).toBeGreaterThan(0);
  });

  describe('a recorded messages stream becomes chat chunks with its facts, however it is cut', () => {
    it.each(named(streams))('%s', (_name, recording) => {
      const [whole, ...others] = cutsOf(recording.body).map((pieces) => outputsOf(asChat, pieces));
      expectChat(recording, whole!);
      for (const other of others) expect(other).toEqual(whole);
    });
  });

  describe('a recorded messages stream passes byte for byte to messages callers, however it is cut', () => {
    it.each(named(streams))('%s', (_name, recording) => {
      const [whole, ...others] = cutsOf(recording.body).map((pieces) => outputsOf(native, pieces));
      expectNative(recording, whole!);
      for (const other of others) expect(other).toEqual(whole);
    });
  });

  describe('additional events of platform A change nothing', () => {
    it.each(named(streams))('%s', (_name, recording) => {
      const body = interleaved(recording.body);
      expect(outputsOf(asChat, [body])).toEqual(outputsOf(asChat, [recording.body]));
      expectNative(recording, outputsOf(native, [body]));
    });
  });

  describe('an error event at any place fails the stream once, and nothing follows', () => {
    it.each(named(streams))('%s', (_name, { body }) => {
      const events = readEvents(body).map(({ wire }) => wire);
      const wrong: object[] = [];
      for (let at = 0; at < events.length; at += Math.ceil(events.length / 60)) {
        const broken = Buffer.concat([...events.slice(0, at), overloaded, ...events.slice(at)]);
        for (const machine of [asChat, native]) {
          const ends = outputsOf(machine, [broken]).filter(({ kind }) => kind !== 'chunk');
          const [end] = ends;
          if (ends.length !== 1 || end?.kind !== 'failed' || end.error.message !== 'Overloaded')
            wrong.push({ at, ends });
        }
      }
      expect(wrong).toEqual([]);
    });
  });

  describe('a stream that is cut at any byte is complete only after its stop reason or `message_stop`', () => {
    it.each(named(streams))('%s', (_name, { body }) => {
      const events = readEvents(body);
      const after = (type: string): number =>
        events.find(({ data }) => data.includes(`"type":"${type}"`))!.to;
      const [stopReason, stop] = [after('message_delta'), after('message_stop')];
      const wrong: object[] = [];
      for (const length of someEndLengths(body, [stopReason, stop]))
        for (const [machine, from] of [
          [asChat, stopReason],
          [native, stop],
        ] as const)
          for (const ending of length % 50 === 0 ? [eof, broken] : [eof]) {
            const told = outputsOf(machine, [body.subarray(0, length)], ending);
            const ends = told.flatMap(({ kind }) => (kind === 'chunk' ? [] : [kind]));
            const expected = length >= from ? 'done' : 'failed';
            if (ends.length !== 1 || told.at(-1)!.kind !== expected) wrong.push({ length, ends, expected });
            // A native event passes when it is complete, not earlier.
            const complete = events.filter(({ to }) => to <= length).length;
            if (machine === native && told.length !== complete + 1) wrong.push({ length, complete });
          }
      expect(wrong.slice(0, 5)).toEqual([]);
    });
  });

  it('of two concatenated answers only the first is returned', () => {
    const { body } = all.find(isGlued)!;
    const events = readEvents(body);
    const first = events.findIndex(({ data }) => data.includes('"message_stop"'));
    const answer = Buffer.concat(events.slice(0, first + 1).map(({ wire }) => wire));
    for (const machine of [asChat, native])
      expect(outputsOf(machine, [body])).toEqual(outputsOf(machine, [answer]));
  });

  describe('a recorded whole message becomes a chat completion with its facts, and is observed with them', () => {
    it.each(named(answers))('%s', (_name, { body, facts }: Answer) => {
      const told = messageAsChat(body.toString(), words);
      if (E.isLeft(told)) throw new Error(JSON.stringify(told.left));
      const completion = JSON.parse(String(told.right.text)) as Loose;
      const [choice] = listOf(completion['choices']);
      const message = choice!['message'] as Loose;
      expect(choice!['finish_reason']).toBe(finishes[facts.stop_reason]);
      expect(factsOf(textOf(message['content']))).toEqual({
        chars: facts.text.chars,
        sha256: facts.text.sha256,
      });
      expect(
        listOf(message['tool_calls']).map(({ id, function: named }) => ({ id, ...(named as object) })),
      ).toEqual(
        facts.toolUses.map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) })),
      );
      const reasoning = nativeParts([message], 'reasoning');
      expect(reasoning.map(({ type }) => type)).toEqual(
        facts.blocks.filter((type) => type.endsWith('thinking')),
      );
      if (facts.thinking !== undefined)
        expect(factsOf(reasoning.map(({ thinking }) => textOf(thinking)).join(''))).toEqual({
          chars: facts.thinking.chars,
          sha256: facts.thinking.sha256,
        });
      expect(nativeParts([message], 'blocks').map(({ type }) => type)).toEqual(
        facts.blocks.filter((type) => !spoken.has(type)),
      );
      const usage = usageOf(facts.usage);
      expect(completion['usage']).toMatchObject({
        prompt_tokens: usage.promptTokens,
        completion_tokens: usage.completionTokens,
        total_tokens: usage.totalTokens,
      });
      const own = readMessage(body.toString(), sanitise);
      expect(E.isRight(own) && withoutBeside(observeMessage(own.right))).toEqual({
        usage,
        usageUnusable: false,
        invokedToolCount: facts.blocks.filter((type) => type.endsWith('tool_use')).length,
      });
    });
  });

  it.each(named(refusals))('an error body under status 200 is an error: %s', (_name, { body, facts }) => {
    expect(readMessage(body.toString(), sanitise)).toMatchObject({
      left: { kind: 'protocol', message: facts.message },
    });
  });
}

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
