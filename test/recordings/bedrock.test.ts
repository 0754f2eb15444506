import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { generationUsage } from '../../domain/ledger/usage.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { unifiedCompletion } from '../../infrastructure/providers/cloud-b/unified-response.ts';
import { unifiedStream } from '../../infrastructure/providers/cloud-b/unified-stream.ts';
import { eventFrames } from '../../infrastructure/providers/wire/event-stream.ts';
import { byteByByte, chunkingsOf } from '../support/arbitraries/bytes.ts';
import { eventFrame } from '../support/event-stream-frames.ts';
import { outputsOf } from '../support/machine-laws.ts';
import { leftOut } from './left-out.ts';
import { noRecordings, recordingsFolder, type TextFacts } from './library.ts';

/** A recorded converse answer as an independent decoder read it. */
interface ConverseFacts {
  readonly stopReason: string;
  /** Of all text blocks; of a whole answer without what is cited. */
  readonly text: TextFacts;
  readonly reasoning?: TextFacts;
  /** The blocks of a stream; of a whole answer only their kinds. */
  readonly blocks: readonly (
    | string
    | { readonly kind: string; readonly reasoning?: TextFacts; readonly inputJson?: string }
  )[];
  readonly usage?: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly totalTokens: number;
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
  };
}

interface Recording {
  readonly name: string;
  readonly body: Buffer;
  readonly facts: ConverseFacts;
}

const names = { id: 'chatcmpl-1', model: 'asked-for', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message;
const machine = andThen(eventFrames, seal(unifiedStream(names, sanitise)));

/** Each line of a payload list is one event, keyed by its type. */
const framed = (stored: Buffer): Buffer =>
  Buffer.concat(
    stored
      .toString()
      .split('\n')
      .filter((line) => line.trim() !== '')
      .flatMap((line) => Object.entries(JSON.parse(line) as Record<string, object>))
      .map(([type, payload]) => eventFrame(type, payload)),
  );

function recordings(folder: string): readonly Recording[] {
  if (noRecordings !== undefined) return [];
  const at = path.join(recordingsFolder, 'bedrock', ...folder.split('/'));
  return readdirSync(at)
    .filter((file) => file.endsWith('.meta.json'))
    .sort()
    .map((file) => {
      const { facts, file: stored } = JSON.parse(readFileSync(path.join(at, file), 'utf8')) as {
        facts: ConverseFacts;
        file: string;
      };
      const body = readFileSync(path.join(at, path.basename(stored)));
      return { name: file, facts, body: stored.endsWith('.jsonl') ? framed(body) : body };
    });
}

const streams = [...recordings('converse-stream/stream'), ...recordings('converse-stream-events/stream')];
const answers = recordings('converse/unary');
const refusals = recordings('converse/error');
const named = (all: readonly Recording[]) => all.map((recording) => [recording.name, recording] as const);

const digestOf = (text: string): Pick<TextFacts, 'chars' | 'sha256'> => ({
  chars: text.length,
  sha256: createHash('sha256').update(text).digest('hex'),
});
const factOf = ({ chars, sha256 }: TextFacts) => ({ chars, sha256 });

const finishOf: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  guardrail_intervened: 'content_filter',
};

/** Usage as it is billed: input + cache read + cache write. */
const billed = ({ usage }: ConverseFacts) =>
  usage === undefined
    ? undefined
    : {
        promptTokens: usage.inputTokens + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0),
        completionTokens: usage.outputTokens,
        totalTokens: usage.totalTokens,
      };

interface Call {
  readonly index?: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

interface Said {
  readonly content?: string | null;
  readonly tool_calls?: readonly Call[];
  readonly provider_metadata?: {
    readonly cloud_b_platform: { readonly reasoning?: readonly { readonly thinking?: string }[] };
  };
}

interface Told {
  readonly choices: readonly {
    readonly delta?: Said;
    readonly message?: Said;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: JsonObject;
}

/** What a caller has of a stream in the end. */
function collected(events: readonly StreamEvent<JsonObject>[]) {
  const chunks = events.flatMap((event) => (event.kind === 'chunk' ? [event.chunk as unknown as Told] : []));
  const choices = chunks.flatMap((chunk) => chunk.choices);
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const call of choices.flatMap(({ delta }) => delta?.tool_calls ?? [])) {
    calls[call.index!] ??= { id: call.id!, name: call.function.name!, arguments: '' };
    calls[call.index!]!.arguments += call.function.arguments;
  }
  return {
    text: choices.map(({ delta }) => delta?.content ?? '').join(''),
    reasoning: choices.map(({ delta }) => thinkingOf(delta)).join(''),
    calls,
    finish: choices.flatMap(({ finish_reason: reason }) => reason ?? []),
    usage: chunks.findLast(({ usage }) => usage !== undefined)?.usage,
    ends: events.filter(({ kind }) => kind !== 'chunk').map(({ kind }) => kind),
  };
}

const thinkingOf = (said: Said | undefined): string =>
  (said?.provider_metadata?.cloud_b_platform.reasoning ?? []).map(({ thinking }) => thinking ?? '').join('');

interface Seen {
  readonly type: string;
  readonly payload: { readonly start?: { readonly toolUse?: { readonly type?: string } } };
  readonly end: number;
}

/** The frames of a recording, read by another implementation. */
function framesOf(body: Buffer): readonly Seen[] {
  const codec = new EventStreamCodec(
    (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
    (text) => Buffer.from(text, 'utf8'),
  );
  const seen: Seen[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + body.readUInt32BE(at);
    const { headers, body: payload } = codec.decode(body.subarray(at, end));
    seen.push({
      type: String(headers[':event-type']?.value),
      payload: JSON.parse(Buffer.from(payload).toString('utf8')) as Seen['payload'],
      end,
    });
    at = end;
  }
  return seen;
}

/** The arguments of the calls that are the caller's to answer: the platform's own are not. */
function callersArguments({ body, facts }: Recording): readonly string[] {
  const starts = framesOf(body)
    .filter(({ type }) => type === 'contentBlockStart')
    .flatMap(({ payload }) => payload.start?.toolUse ?? []);
  const inputs = facts.blocks.flatMap((block) =>
    typeof block !== 'string' && block.kind === 'toolUse' ? [block.inputJson ?? ''] : [],
  );
  expect(inputs).toHaveLength(starts.length);
  return inputs.filter((_, index) => starts[index]?.type !== 'server_tool_use').map((text) => text || '{}');
}

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);

function replayed(): void {
  it('finds recordings of streams, answers and refusals', () => {
    expect([streams, answers, refusals].map(({ length }) => length > 1)).toEqual([true, true, true]);
  });

  describe('recorded converse streams are told as chat streams', () => {
    it.each(named(streams))('%s', (_, recording) => {
      const { body, facts } = recording;
      const got = collected(outputsOf(machine, [body]));
      expect(digestOf(got.text)).toEqual(factOf(facts.text));
      expect(got.calls.map(({ arguments: text }) => text)).toEqual(callersArguments(recording));
      expect(got.calls.every(({ id, name }) => id !== '' && name !== '')).toBe(true);
      expect(got.finish).toEqual([finishOf[facts.stopReason]]);
      expect(generationUsage(got.usage)).toEqual(billed(facts));
      const [thought] = facts.blocks.flatMap((block) =>
        typeof block === 'string' || block.reasoning === undefined ? [] : [block.reasoning],
      );
      expect(digestOf(got.reasoning)).toEqual(thought === undefined ? digestOf('') : factOf(thought));
      expect(got.ends).toEqual(['done']);
    });
  });

  describe('and so they are under any cut', () => {
    it.each(named(streams))('%s', (_, { body }) => {
      const whole = outputsOf(machine, [body]);
      expect(outputsOf(machine, byteByByte(body))).toEqual(whole);
      fc.assert(
        fc.property(chunkingsOf(body), (pieces) => expect(outputsOf(machine, pieces)).toEqual(whole)),
        { numRuns: 10 },
      );
    });
  });

  describe('EOF at any byte is exactly one failure, unless the stop was seen', () => {
    it.each(named(streams))('%s', (_, { body }) => {
      const frames = framesOf(body);
      const stop = frames.find(({ type }) => type === 'messageStop')!.end;
      const places = fc.oneof(
        fc.nat(body.length),
        fc.constantFrom(...frames.map(({ end }) => end), stop - 1),
      );
      const endings: readonly Ending[] = [{ kind: 'eof' }, { kind: 'fault', reason: 'It broke.' }];
      fc.assert(
        fc.property(places, fc.constantFrom(...endings), (at, ending) => {
          const { ends } = collected(outputsOf(machine, [body.subarray(0, at)], ending));
          expect(ends).toEqual([at < stop ? 'failed' : 'done']);
        }),
        { numRuns: 60 },
      );
    });
  });

  describe('a corrupted length or header is exactly one end', () => {
    it.each(named(streams))('%s', (_, { body }) => {
      const frames = framesOf(body);
      const starts = [0, ...frames.map(({ end }) => end)].slice(0, -1);
      const stop = frames.find(({ type }) => type === 'messageStop')!.end;
      const change = fc.tuple(fc.constantFrom(...starts), fc.nat(90), fc.integer({ min: 1, max: 255 }));
      fc.assert(
        fc.property(change, ([start, offset, bits]) => {
          const changed = Buffer.from(body);
          changed[start + offset]! ^= bits;
          const { ends } = collected(outputsOf(machine, [changed]));
          expect(ends).toHaveLength(1);
          // The two lengths: without them the stop is never seen.
          if (offset < 8 && start < stop) expect(ends).toEqual(['failed']);
        }),
        { numRuns: 60 },
      );
    });
  });

  describe('recorded converse answers are told as chat completions', () => {
    it.each(named(answers))('%s', (_, { body, facts }) => {
      const told = unifiedCompletion(body.toString('utf8'), names, sanitise);
      if (E.isLeft(told)) throw new Error(JSON.stringify(told.left));
      const completion = told.right as unknown as Told;
      const [{ message, finish_reason: finish }] = completion.choices as [Told['choices'][0]];
      const cited = facts.blocks.includes('citationsContent');
      const text = message?.content ?? '';
      expect(digestOf(cited ? text.slice(0, facts.text.chars) : text)).toEqual(factOf(facts.text));
      expect(text.length > facts.text.chars).toBe(cited);
      expect(digestOf(thinkingOf(message))).toEqual(
        facts.reasoning === undefined ? digestOf('') : factOf(facts.reasoning),
      );
      expect(calledIn(message)).toEqual(callersCalls(body));
      expect(finish).toBe(finishOf[facts.stopReason]);
      expect(generationUsage(completion.usage)).toEqual(billed(facts));
    });
  });

  describe('recorded refusals are no answers', () => {
    it.each(named(refusals))('%s', (_, { body }) => {
      const { message } = JSON.parse(body.toString('utf8')) as { message: string };
      expect(unifiedCompletion(body.toString('utf8'), names, sanitise)).toEqual(
        E.left({ kind: 'protocol', message }),
      );
    });
  });
}

const calledIn = (message: Said | undefined) =>
  (message?.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => [
    id,
    name,
    JSON.parse(text) as unknown,
  ]);

interface ConverseAnswer {
  readonly output: {
    readonly message: {
      readonly content: readonly {
        readonly toolUse?: {
          readonly toolUseId: string;
          readonly name: string;
          readonly input: unknown;
          readonly type?: string;
        };
      }[];
    };
  };
}

/** The calls in a recorded answer, but for those that the platform ran itself. */
const callersCalls = (body: Buffer) =>
  (JSON.parse(body.toString('utf8')) as ConverseAnswer).output.message.content
    .flatMap(({ toolUse }) => toolUse ?? [])
    .filter(({ type }) => type !== 'server_tool_use')
    .map(({ toolUseId, name, input }) => [toolUseId, name, input]);
