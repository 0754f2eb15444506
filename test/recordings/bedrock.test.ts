import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { unifiedStream } from '../../infrastructure/providers/cloud-b/unified-stream.ts';
import { eventFrames } from '../../infrastructure/providers/wire/event-stream.ts';
import { byteByByte, chunkingsOf } from '../support/arbitraries/bytes.ts';
import { outputsOf } from '../support/machine-laws.ts';
import { converseRecordings, frameStarts, framesOf, invokeStreams, stopEnd } from './bedrock-library.ts';
import { someEndLengths } from './cuts.ts';
import { leftOut } from './left-out.ts';
import { noRecordings, named } from './library.ts';

const names = { id: 'chatcmpl-1', model: 'asked-for', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message;
const machine = andThen(eventFrames, seal(unifiedStream(names, sanitise)));

type Events = readonly StreamEvent<JsonObject>[];

const endsOf = (events: Events): readonly string[] =>
  events.flatMap(({ kind }) => (kind === 'chunk' ? [] : [kind]));

const endings: readonly Ending[] = [{ kind: 'eof' }, { kind: 'fault', reason: 'It broke.' }];

function replayed(): void {
  const { streams } = converseRecordings();

  describe('a recorded converse stream gives the same events, however it is cut', () => {
    it.each(named(streams))('%s', (_name, { body }) => {
      const whole = outputsOf(machine, [body]);
      expect(endsOf(whole)).toEqual(['done']);
      expect(outputsOf(machine, byteByByte(body))).toEqual(whole);
      fc.assert(
        fc.property(chunkingsOf(body), (pieces) => isDeepStrictEqual(outputsOf(machine, pieces), whole)),
        { numRuns: 30 },
      );
    });
  });

  describe('a recorded converse stream that is cut at any byte is complete only after its stop and at the end of a frame', () => {
    it.each(named(streams))('%s', (_name, { body }) => {
      const stop = stopEnd(body);
      const wrong: object[] = [];
      const places = framesOf(body).map(({ end }) => end);
      for (const length of someEndLengths(body, places))
        for (const ending of length % 50 === 0 ? endings : endings.slice(0, 1)) {
          const told = outputsOf(machine, [body.subarray(0, length)], ending);
          const expected = length >= stop && places.includes(length) ? 'done' : 'failed';
          if (!isDeepStrictEqual(endsOf(told), [expected]) || told.at(-1)?.kind !== expected)
            wrong.push({ length, ending: ending.kind, ends: endsOf(told), expected });
        }
      expect(wrong.slice(0, 5)).toEqual([]);
    });
  });

  describe('a stream with any changed byte has exactly one end, and a wrong length is a failure', () => {
    it.each(named(streams))('%s', (_name, { body }) => {
      const stop = stopEnd(body);
      const starts = frameStarts(body).filter((start) => start < stop);
      const change = fc.tuple(fc.constantFrom(...starts), fc.nat(90), fc.integer({ min: 1, max: 255 }));
      fc.assert(
        fc.property(change, ([start, offset, bits]) => {
          const changed = Buffer.from(body);
          changed[start + offset]! ^= bits;
          const ends = endsOf(outputsOf(machine, [changed]));
          expect(ends).toHaveLength(1);
          // The two lengths: if one is wrong, the stop is never decoded.
          if (offset < 8) expect(ends).toEqual(['failed']);
        }),
        { numRuns: 100 },
      );
    });
  });

  describe('frames of another call are decoded as frames, and fail as an answer', () => {
    it.each(named(invokeStreams()))('%s', (_name, { body, facts }) => {
      const frames = outputsOf(eventFrames, [body]);
      expect(frames).toHaveLength(facts.frames);
      expect(frames.every(({ kind }) => kind === 'frame')).toBe(true);
      expect(outputsOf(eventFrames, byteByByte(body))).toEqual(frames);
      expect(outputsOf(machine, [body]).map(({ kind }) => kind)).toEqual(['failed']);
    });
  });
}

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
