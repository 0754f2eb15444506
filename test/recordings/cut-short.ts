import type { UpstreamCall } from '../../application/ports/upstream.ts';
import type { Dialect } from '../../infrastructure/providers/provider.ts';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Ending, Sealed } from '../../domain/shared/stream-machine.ts';
import { compat } from '../../infrastructure/providers/compat/index.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import { outputsOf } from '../support/machine-laws.ts';
import type { ReplayEnding } from '../support/replay-upstream.ts';
import { endLengths, lengthsAround } from './cuts.ts';
import { named, type Recording } from './library.ts';
import { type ReceivedEvent, readEvents } from './received.ts';
import { type Answer, rehearsal, replayConfig } from './rehearsal.ts';

/**
 * What an event means for the end of its stream. `finish`: it completes the answer. `done`: the stream ends with
 * success. `over`: the stream ends, and earlier events decide how. `failed`: the stream ends with an error of the
 * gateway. `told`: a failure of the upstream, which is passed on.
 */
export type Meaning = 'finish' | 'done' | 'over' | 'failed' | 'told' | undefined;

/** How a cut stream must end, and the number of chunks before its end. */
export interface Verdict {
  readonly end: 'done' | 'failed' | 'told';
  readonly chunks: number;
}

/** Checks what a caller received; `message` matches the error if the gateway sends it. */
export type Check<Facts> = (
  answer: Answer,
  verdict: Verdict,
  message: RegExp,
  stream: Recording<Facts>,
) => void;

export interface CutShort<Facts> {
  readonly family: 'chat_completions' | 'responses';
  readonly streams: readonly Recording<Facts>[];
  readonly meaning: (event: ReceivedEvent) => Meaning;
  readonly check: Check<Facts>;
}

/** The shortest stream for each wish; where none is left, another one, the shortest first. */
export function choose<Facts>(
  streams: readonly Recording<Facts>[],
  wishes: readonly ((stream: Recording<Facts>) => boolean)[],
): readonly Recording<Facts>[] {
  const shortestFirst = streams.toSorted((a, b) => a.body.length - b.body.length);
  const taken = new Set<Recording<Facts>>();
  const take = (wanted: (stream: Recording<Facts>) => boolean): void => {
    const found = shortestFirst.find((stream) => !taken.has(stream) && wanted(stream));
    if (found !== undefined) taken.add(found);
  };
  for (const wish of wishes) take(wish);
  while (taken.size < Math.min(wishes.length, shortestFirst.length)) take(() => true);
  return [...taken];
}

/** A cut takes time by the length of the stream, so longer ones are cut only at random, in other tests. */
const cutBytes = 5500;

const eof: Ending = { kind: 'eof' };
const broken: Ending = { kind: 'fault', reason: 'It broke.' };

const letters = { done: 'd', failed: 'f', told: 't' } as const satisfies Record<Verdict['end'], string>;

export function describeCutShort<Facts>({ family, streams, meaning, check }: CutShort<Facts>): void {
  const { ask } = rehearsal((url, key) => replayConfig(url, key, ['cut']));
  const events = compatEvents(family);

  describe('a short recorded stream in two pieces', () => {
    it.each(named(streams.filter(({ body }) => body.length <= cutBytes)))(
      '%s: gives the same events for a cut at any byte',
      (_name, { body }) => {
        const whole = shownOf(outputsOf(events, [body]));
        const wrong: number[] = [];
        for (let at = 1; at < body.length; at += 1) {
          const pieces = [body.subarray(0, at), body.subarray(at)];
          if (shownOf(outputsOf(events, pieces)) !== whole) wrong.push(at);
        }
        expect(wrong).toEqual([]);
      },
    );
  });

  describe('a recorded stream that is cut at any byte', () => {
    it.each(named(streams))(
      '%s: has exactly one end, which is `done` only after a terminal event',
      (_name, { body }) => {
        const expected = verdicts(body, meaning);
        const wrong: object[] = [];
        for (const length of endLengths(body, decidingIn(body, meaning))) {
          const { end, chunks } = expected(length);
          // Each with a clean end; a sample of them with a broken connection.
          const endings = length % 50 === 0 ? [eof, broken] : [eof];
          for (const ending of endings) {
            const seen = lettersOf(outputsOf(events, [body.subarray(0, length)], ending));
            if (seen !== `${'c'.repeat(chunks)}${letters[end]}`)
              wrong.push({ length, ending: ending.kind, seen, end, chunks });
          }
        }
        expect(wrong.slice(0, 5)).toEqual([]);
      },
    );

    it.each(named(streams))(
      '%s: ends for its caller as it must, and has the rows of that end',
      async (_name, stream) => {
        const { body } = stream;
        const expected = verdicts(body, meaning);
        const endings: readonly ReplayEnding['kind'][] = ['end', 'break', 'reset'];
        await Promise.all(
          lengthsAround(body, decidingIn(body, meaning)).flatMap((after) =>
            endings.map(async (kind) => {
              const headers = { 'content-type': 'text/event-stream' };
              const replay = { headers, body, ending: { kind, after } };
              const answer = await ask(replay, { model: 'cut', stream: true, family });
              const message =
                kind === 'end' ? /before the answer was complete/ : /connection to the upstream/;
              check(answer, expected(after), message, stream);
            }),
          ),
        );
      },
    );
  });
}

type Event = StreamEvent<JsonObject>;

/** The machine of the dialect that a compat upstream speaks. */
function compatEvents(family: CutShort<unknown>['family']): Sealed<Buffer, Event> {
  const provider = compat.connect(
    {
      kind: 'compat',
      id: 'up',
      pricingProviderId: 'up',
      baseUrl: 'http://127.0.0.1/v1',
      auth: { mode: 'none' },
      defaultHeaders: {},
      timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    },
    {
      sanitise: (message) => message,
      digest: (text) => text,
      conceal: () => undefined,
      warn: () => undefined,
    },
  );
  const answer = { id: 'chatcmpl-1', model: 'm', createdSecs: 0 };
  const call: UpstreamCall = { route: aRoute(), family, stream: true, body: '{}', answer, betas: [] };
  const dialect = provider.speak(call)!.dialect as Dialect;
  return { begin: () => dialect.events!('text/event-stream', call)! };
}

/** One letter for each event: chunk, done, failed, told. */
const lettersOf = (events: readonly Event[]): string =>
  events
    .map((event) => (event.kind === 'failed' && event.alreadyShown === true ? 't' : event.kind[0]))
    .join('');

/** The letters, and the bytes that are sent. */
const shownOf = (events: readonly Event[]): string =>
  lettersOf(events) +
  events
    .map((event) => (event.kind === 'chunk' ? (event.wire ?? JSON.stringify(event.chunk)) : ''))
    .map((sent) => Buffer.from(sent as Uint8Array).toString('latin1'))
    .join('');

/** How a stream must end that is cut at a length. */
function verdicts(body: Buffer, meaning: CutShort<unknown>['meaning']): (length: number) => Verdict {
  const events = readEvents(body).map((event) => ({ to: event.to, means: meaning(event) }));
  return (length) => {
    const complete = events.filter(({ to }) => to <= length);
    const last = complete.findIndex(
      ({ means }) => means === 'done' || means === 'over' || means === 'failed',
    );
    const before = last < 0 ? complete : complete.slice(0, last);
    const means = new Set(before.map((each) => each.means));
    const chunks = before.length;
    if (means.has('told')) return { end: 'told', chunks };
    const by = last < 0 ? undefined : complete[last]?.means;
    const succeeds = by === 'done' || (by !== 'failed' && means.has('finish'));
    return { end: succeeds ? 'done' : 'failed', chunks };
  };
}

/** The places that decide how a stream ends. */
const decidingIn = (body: Buffer, meaning: CutShort<unknown>['meaning']): readonly number[] =>
  readEvents(body).flatMap((event) => (meaning(event) === undefined ? [] : [event.to]));
