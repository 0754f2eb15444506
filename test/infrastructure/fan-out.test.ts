import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { maxEventLoopBodyBytes } from '../../domain/shared/limits.ts';
import { Deadlines } from '../../infrastructure/providers/deadlines.ts';
import { Exchange } from '../../infrastructure/providers/exchange.ts';
import { fanOut } from '../../infrastructure/providers/fan-out.ts';

const totalMs = 60_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const connection = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

/** The head of an answer. */
const begin = (exchange: Exchange | undefined, status: number): void =>
  exchange?.onResponseStart(connection, status, {});

/** A whole answer, and one turn for the call to continue. */
async function answer(exchange: Exchange | undefined, status: number, body = ''): Promise<void> {
  begin(exchange, status);
  exchange?.onResponseData(connection, Buffer.from(body));
  exchange?.onResponseEnd();
  await jest.advanceTimersByTimeAsync(0);
}

type Read = Parameters<typeof fanOut>[2];

/** A call of `count` exchanges, which the test answers. */
function aCall(count: number, read: Read = () => E.right({ value: {}, text: '{}' })) {
  const deadlines = new Deadlines();
  const sent: Exchange[] = [];
  const execution = fanOut(
    Array.from({ length: count }, (_, at) => ({ path: '/', headers: {}, body: '{}', inputs: at + 1 })),
    (_, options) => {
      const exchange = new Exchange({
        ...options,
        sanitise: (words) => words,
        deadlines,
        firstByteMs: totalMs,
        totalMs,
        hold: () => undefined,
      });
      sent.push(exchange);
      return exchange;
    },
    read,
  );
  return { execution, sent };
}

describe('a call that is several exchanges', () => {
  it('lasts no longer than one exchange may: later exchanges have the deadline of the first', async () => {
    const { sent } = aCall(9);
    const endsAt = performance.now() + totalMs;
    expect(sent).toHaveLength(8);
    jest.advanceTimersByTime(20_000);
    await answer(sent[0], 200);
    expect(sent[8]?.deadlineAt).toBe(endsAt);
  });

  it('with `cancelWithin` limits later exchanges, too', async () => {
    const { execution, sent } = aCall(9);
    execution.cancelWithin(5_000);
    const endsAt = performance.now() + 5_000;
    await answer(sent[0], 200);
    expect(sent.slice(1).map(({ deadlineAt }) => deadlineAt)).toEqual(Array(8).fill(endsAt));
  });

  it('with several `cancelWithin` calls ends at the earliest, with later exchanges, too', async () => {
    const { execution, sent } = aCall(9);
    execution.cancelWithin(5_000);
    const endsAt = performance.now() + 5_000;
    execution.cancelWithin(30_000);
    await answer(sent[0], 200);
    expect(sent[8]?.deadlineAt).toBe(endsAt);
  });

  it('when cancelled fails, and begins no more exchanges', async () => {
    const { execution, sent } = aCall(20);
    execution.cancel();
    expect(await execution.reply).toMatchObject({ left: { kind: 'transport' } });
    expect(sent).toHaveLength(8);
  });

  it('is accepted from the first 200 head on, also after that exchange has ended', async () => {
    const { execution, sent } = aCall(2);
    expect(execution.accepted()).toBe(false);
    begin(sent[0], 200);
    expect(execution.accepted()).toBe(true);
    await answer(sent[0], 200);
    await answer(sent[1], 500);
    expect(execution.accepted()).toBe(true);
  });

  it('keeps the status 200 if the combined answer cannot be read', async () => {
    const fault = { kind: 'protocol', message: 'Not what was asked for.' } as const;
    const { execution, sent } = aCall(1, () => E.left(fault));
    await answer(sent[0], 200);
    expect(await execution.reply).toEqual(E.left({ ...fault, status: 200 }));
  });

  it('ends with the first fault, cancels the other exchanges, and begins no more', async () => {
    const { execution, sent } = aCall(20, () => {
      throw new Error('There is nothing to read.');
    });
    await answer(sent[2], 429);
    expect(await execution.reply).toMatchObject({ left: { kind: 'status', status: 429 } });
    expect(sent).toHaveLength(8);
    for (const exchange of sent) expect(E.isLeft(await exchange.reply)).toBe(true);
  });

  const readings: Readonly<Record<string, ReturnType<Read>>> = {
    'is read': E.right({ value: { usage: 7 }, text: '{}' }),
    'is not what was asked for': E.left({ kind: 'protocol', message: 'No.', usage: 7 }),
  };
  it.each(Object.keys(readings))(
    'reports its fault with the usage of the other exchanges, whose answer %s',
    async (how) => {
      const seen: string[] = [];
      const { execution, sent } = aCall(3, (parts) => {
        seen.push(...parts.map(({ body, inputs }) => `${Buffer.from(body).toString()}${inputs}`));
        return readings[how]!;
      });
      await answer(sent[2], 200, 'c');
      await answer(sent[0], 200, 'a');
      await answer(sent[1], 429);
      expect(await execution.reply).toMatchObject({ left: { kind: 'status', status: 429, usage: 7 } });
      expect(seen).toEqual(['a1', 'c3']);
    },
  );

  it.each([
    ['', 200, undefined, ['a1', '2', 'c3']],
    [', and its fault', 429, { kind: 'status', status: 429 }, ['a1', 'c3']],
  ])('returns the parts of a large answer without reading them%s', async (_, status, fault, handed) => {
    const { execution, sent } = aCall(3, () => {
      throw new Error('It is large.');
    });
    const half = 'x'.repeat(maxEventLoopBodyBytes / 2);
    await answer(sent[2], 200, `${half}c`);
    await answer(sent[0], 200, `${half}a`);
    await answer(sent[1], status);
    const reply = await execution.reply;
    if (!E.isRight(reply) || reply.right.kind !== 'large') throw new Error('It is not large.');
    const { parts, ...more } = reply.right;
    expect(more).toMatchObject({ status: 200, ...(fault === undefined ? {} : { fault }) });
    expect('fault' in more).toBe(fault !== undefined);
    expect(
      parts.map(({ text, inputs }) => `${Buffer.from(text).toString()}${inputs}`.slice(-2).replace('x', '')),
    ).toEqual(handed);
  });
});
