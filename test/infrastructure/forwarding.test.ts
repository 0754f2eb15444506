import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Hold } from '../../application/ports/upstream.ts';
import { chatStream } from '../../domain/chat/chat-stream.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamChunk, StreamEnd } from '../../domain/shared/stream-event.ts';
import { andThen, type Sealed, seal } from '../../domain/shared/stream-machine.ts';
import { jsonArrayFrames } from '../../infrastructure/providers/wire/json-array.ts';
import { Forwarding } from '../../infrastructure/providers/forwarding.ts';
import { eventFrames } from '../../infrastructure/providers/wire/event-stream.ts';
import { jsonLineFrames } from '../../infrastructure/providers/wire/json-lines.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { loadGate } from '../../interfaces/http/load-gate.ts';
import { chunkingsOf } from '../support/arbitraries/bytes.ts';
import { eventFrame } from '../support/event-stream-frames.ts';
import { outputsOf } from '../support/machine-laws.ts';

const machine = andThen(sseFrames, seal(chatStream({ namespace: 'compat', sanitise: (words) => words })));
const event = (content: string): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
const done = Buffer.from('data: [DONE]\n\n');

/** A stream, the chunks it forwarded, and the bytes it counted as incomplete. */
function forwarding(hold: Hold = () => undefined) {
  const passed: StreamChunk<JsonObject>[] = [];
  const counted: number[] = [];
  let ended: StreamEnd<JsonObject> | undefined;
  const line = new Forwarding(machine.begin(), {
    pause: () => undefined,
    resume: () => undefined,
    ended: (end) => {
      ended = end;
    },
  });
  void line.forward(
    (chunks) => void passed.push(...chunks),
    (bytes) => {
      counted.push(bytes);
      return hold(bytes);
    },
  );
  return { line, passed, counted, ended: () => ended };
}

/** A stream, and the calls on its connection. */
function held() {
  const valve: string[] = [];
  const line = new Forwarding(machine.begin(), {
    pause: () => void valve.push('pause'),
    resume: () => void valve.push('resume'),
    ended: () => void valve.push('ended'),
  });
  return { line, valve };
}

const kibibyte = 1024;

describe('an incomplete event of a stream', () => {
  it('is not counted if it is small, however the stream is cut', () => {
    const bytes = Buffer.concat([...Array.from({ length: 50 }, () => event('x'.repeat(kibibyte))), done]);
    fc.assert(
      fc.property(chunkingsOf(bytes), (pieces) => {
        const { line, passed, counted } = forwarding();
        for (const piece of pieces) line.push(piece);
        expect([passed.length, counted]).toEqual([50, []]);
      }),
      { numRuns: 50 },
    );
  });

  it('is counted as it grows, and released when it is complete', () => {
    const { line, passed, counted } = forwarding();
    const large = event('x'.repeat(100 * kibibyte));
    for (const [from, to] of [
      [0, 50],
      [50, 80],
      [80, 90],
    ] as const)
      line.push(large.subarray(from * kibibyte, to * kibibyte));
    expect(counted).toEqual([80 * kibibyte, 90 * kibibyte]);
    line.push(large.subarray(90 * kibibyte));
    expect(counted.slice(2)).toEqual([0]);
    expect(passed).toHaveLength(1);
    line.push(Buffer.concat([done, large.subarray(0, 90 * kibibyte)]));
    expect(counted.slice(3)).toEqual([]);
  });

  it('ends the stream with an error if it exceeds the memory limit, and nothing follows', () => {
    const error: GatewayError = { code: 'overloaded', message: 'Full.' };
    const { line, passed, counted, ended } = forwarding((bytes) => (bytes > 100_000 ? error : undefined));
    line.push(event('a'));
    const large = event('x'.repeat(300_000));
    for (let at = 0; at < large.length; at += 30_000) line.push(large.subarray(at, at + 30_000));
    line.push(done);
    line.end({ kind: 'eof' });
    expect(passed).toHaveLength(1);
    expect(ended()).toEqual({ kind: 'failed', error });
    expect(counted).toEqual([90_000, 120_000, 0]);
  });

  it('is released when the stream ends in its middle', () => {
    const { line, counted, ended } = forwarding();
    line.push(event('x'.repeat(100_000)).subarray(0, 90_000));
    line.end({ kind: 'eof' });
    expect(ended()?.kind).toBe('failed');
    expect(counted).toEqual([90_000, 0]);
  });
});

describe('the held bytes of an incomplete event', () => {
  const large = { text: 'x'.repeat(100_000) };
  it.each<[string, Sealed<Buffer, object>, Buffer]>([
    ['server-sent events', sseFrames, Buffer.from(`data: ${JSON.stringify(large)}\n\n`)],
    ['JSON lines', jsonLineFrames, Buffer.from(`${JSON.stringify(large)}\n`)],
    ['a JSON array', jsonArrayFrames, Buffer.from(`[${JSON.stringify(large)}`)],
    ['binary frames', eventFrames, eventFrame('contentBlockDelta', large)],
  ])('are counted in %s until it is complete', (_, framing, bytes) => {
    const run = framing.begin();
    expect(run.holds()).toBe(0);
    run.push(bytes.subarray(0, 80_000));
    expect(run.holds()).toBeGreaterThanOrEqual(79_999);
    expect(run.push(bytes.subarray(80_000))).toHaveLength(1);
    expect(run.holds()).toBe(0);
  });
});

describe('the memory limit for incomplete events', () => {
  it('is shared by all requests, and memory is free again when an event shrinks or a request is released', () => {
    const gate = loadGate({ maxInFlight: 2, maxInFlightPerOwner: 2, maxBufferedBytes: 100 });
    const [one, other] = [gate.enter()!, gate.enter()!];
    expect([one.holdUnfinished(60), one.holdUnfinished(90), other.hold(20)]).toEqual([true, true, false]);
    expect([one.holdUnfinished(101), other.hold(10), one.holdUnfinished(40)]).toEqual([false, true, true]);
    expect([other.hold(50), one.holdUnfinished(41)]).toEqual([true, false]);
    one.release();
    expect([one.holdUnfinished(90), other.hold(40), other.hold(1)]).toEqual([true, true, false]);
  });
});

describe('a stream that arrives faster than it is read', () => {
  it('leaves turns of the event loop to other work, and loses nothing', async () => {
    const { line, valve } = held();
    let inTurn = 0;
    const turns: number[] = [];
    const last = line.forward(
      (chunks) => void (inTurn += chunks.length),
      () => undefined,
    );
    for (let left = 20; left > 0; ) {
      for (; left > 0 && valve.at(-1) !== 'pause'; left -= 1) line.push(event('x'.repeat(32 * kibibyte)));
      await turn();
      turns.push(inTurn);
      inTurn = 0;
    }
    line.push(done);
    expect(await last).toEqual({ kind: 'done' });
    expect(turns).toEqual([4, 4, 4, 4, 4]);
    expect(valve).toEqual([...Array.from({ length: 5 }, () => ['pause', 'resume']).flat(), 'ended']);
  });

  it('is read to its end, also if it ends meanwhile', async () => {
    const { line, valve } = held();
    let passed = 0;
    const last = line.forward(
      (chunks) => void (passed += chunks.length),
      () => undefined,
    );
    for (let at = 0; at < 6; at += 1) line.push(event('x'.repeat(32 * kibibyte)));
    line.push(done);
    line.end({ kind: 'eof' });
    expect(passed).toBe(4);
    expect(await last).toEqual({ kind: 'done' });
    expect([passed, valve]).toEqual([6, ['pause', 'ended']]);
  });
});

describe('chunks that wait for a slow caller', () => {
  it('are forwarded in order once the caller reads again, even if they arrived byte by byte', async () => {
    const room = Promise.withResolvers<void>();
    const passed: JsonObject[] = [];
    const line = new Forwarding(machine.begin(), {
      pause: () => undefined,
      resume: () => undefined,
      ended: () => undefined,
    });
    const last = line.forward(
      (chunks) => {
        passed.push(...chunks.map(({ chunk }) => chunk));
        return passed.length === 1 ? room.promise : undefined;
      },
      () => undefined,
    );
    const bytes = Buffer.concat([...Array.from({ length: 3000 }, (_, at) => event(String(at))), done]);
    for (let at = 0; at < bytes.length; at += 1) line.push(bytes.subarray(at, at + 1));
    room.resolve();
    expect(await last).toEqual({ kind: 'done' });
    expect(passed.map(({ choices }) => JSON.stringify(choices))).toEqual(
      Array.from({ length: 3000 }, (_, at) => JSON.stringify([{ index: 0, delta: { content: String(at) } }])),
    );
  });

  it('are forwarded once, in order and never while the caller is blocked, for any timing', async () => {
    const streams = fc
      .tuple(fc.array(fc.string({ maxLength: 4 }), { maxLength: 6 }), fc.boolean())
      .map(([texts, isWhole]) => Buffer.concat([...texts.map(event), ...(isWhole ? [done] : [])]));
    const cutStreams = streams.chain((bytes) => fc.tuple(fc.constant(bytes), chunkingsOf(bytes)));
    const choices = fc.infiniteStream(fc.boolean());
    await fc.assert(
      fc.asyncProperty(
        cutStreams,
        fc.nat({ max: 16 }),
        choices,
        choices,
        async ([bytes, pieces], ahead, stops, frees) => {
          const { line, valve } = held();
          const outputs: object[] = [];
          let room: PromiseWithResolvers<void> | undefined;
          const isOver = (): boolean => valve.at(-1) === 'ended';
          const begin = async (): Promise<void> => {
            const end = await line.forward(
              (chunks) => {
                expect([room, chunks]).toEqual([undefined, expect.arrayContaining([expect.anything()])]);
                outputs.push(...chunks);
                room = stops.next().value === true ? Promise.withResolvers() : undefined;
                return room?.promise;
              },
              () => undefined,
            );
            outputs.push(end);
          };
          const free = async (): Promise<void> => {
            room?.resolve();
            room = undefined;
            await turn();
          };
          for (const [at, piece] of pieces.entries()) {
            if (at === ahead) void begin();
            line.push(piece);
            if (frees.next().value === true) await free();
            if (!isOver()) expect(valve.length % 2).toBe(room === undefined ? 0 : 1);
          }
          if (ahead === pieces.length) void begin();
          line.end({ kind: 'eof' });
          if (ahead > pieces.length) void begin();
          for (let turns = 0; turns < 20 && !isOver(); turns += 1) await free();
          await turn();
          expect(outputs).toEqual(outputsOf(machine, [bytes]));
          expect(valve.join(' ')).toMatch(/^(?:pause resume )*(?:pause )?ended$/);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('pause the upstream each time the caller is blocked, and only so long', async () => {
    const { line, valve } = held();
    let room = Promise.withResolvers<void>();
    const last = line.forward(
      () => room.promise,
      () => undefined,
    );
    for (const content of ['a', 'b', 'c']) {
      line.push(event(content));
      expect(valve.splice(0)).toEqual(['pause']);
      room.resolve();
      await turn();
      expect(valve.splice(0)).toEqual(['resume']);
      room = Promise.withResolvers();
    }
    line.push(done);
    expect(await last).toEqual({ kind: 'done' });
  });

  it('pause the upstream if forwarding has not begun and more than a few pieces are waiting', async () => {
    const { line, valve } = held();
    const piece = Buffer.from(`:${' '.repeat(64 * kibibyte - 3)}\n\n`);
    for (let pieces = 0; pieces < 4; pieces += 1) line.push(piece);
    expect(valve).toEqual([]);
    line.push(piece);
    line.push(piece);
    expect(valve).toEqual(['pause']);
    const last = line.forward(
      () => undefined,
      () => undefined,
    );
    await turn();
    expect(valve).toEqual(['pause', 'resume']);
    line.push(done);
    expect(await last).toEqual({ kind: 'done' });
  });
});
