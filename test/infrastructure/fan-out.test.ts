import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
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

/** A whole answer, and what the call does next. */
async function answer(exchange: Exchange | undefined, status: number): Promise<void> {
  begin(exchange, status);
  exchange?.onResponseEnd();
  await jest.advanceTimersByTimeAsync(0);
}

type Read = Parameters<typeof fanOut>[2];

/** A call of so many exchanges over upstreams that answer when the test says so. */
function aCall(count: number, read: Read = () => E.right({ value: {}, text: '{}' })) {
  const deadlines = new Deadlines();
  const sent: Exchange[] = [];
  const execution = fanOut(
    Array.from({ length: count }, () => ({ path: '/', headers: {}, body: '{}', inputs: 1 })),
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
  it('lasts no longer than one may: those that begin later end with the first', async () => {
    const { sent } = aCall(9);
    expect(sent).toHaveLength(8);
    jest.advanceTimersByTime(20_000);
    await answer(sent[0], 200);
    expect(sent[8]?.deadlineAt).toBe(sent[1]?.deadlineAt);
  });

  it('that is to end in time does so with those that begin later, too', async () => {
    const { execution, sent } = aCall(9);
    execution.cancelWithin(5_000);
    const endsAt = performance.now() + 5_000;
    await answer(sent[0], 200);
    expect(sent.slice(1).map(({ deadlineAt }) => deadlineAt)).toEqual(Array(8).fill(endsAt));
  });

  it('is accepted from the first good head on, and stays so when that exchange is over', async () => {
    const { execution, sent } = aCall(2);
    expect(execution.accepted()).toBe(false);
    begin(sent[0], 200);
    expect(execution.accepted()).toBe(true);
    await answer(sent[0], 200);
    await answer(sent[1], 500);
    expect(execution.accepted()).toBe(true);
  });

  it('was answered, whatever its answers hold', async () => {
    const fault = { kind: 'protocol', message: 'Not what was asked for.' } as const;
    const { execution, sent } = aCall(1, () => E.left(fault));
    await answer(sent[0], 200);
    expect(await execution.reply).toEqual(E.left({ ...fault, status: 200 }));
  });

  it('ends with the fault that came first: the others are cancelled, and none begins any more', async () => {
    const { execution, sent } = aCall(20);
    await answer(sent[2], 429);
    expect(await execution.reply).toMatchObject({ left: { kind: 'status', status: 429 } });
    expect(sent).toHaveLength(8);
    for (const exchange of sent) expect(E.isLeft(await exchange.reply)).toBe(true);
  });
});
