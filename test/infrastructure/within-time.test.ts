import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { AnswerTimeout } from '../../infrastructure/postgres/database-fault.ts';
import { withinTime } from '../../infrastructure/postgres/within-time.ts';

describe('a database statement', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('fails after 12 seconds without an answer, including the wait for a connection', async () => {
    const silent = { connect: () => new Promise(() => undefined) } as unknown as DatabasePool;
    let fault: unknown;
    const ended = withinTime(silent, async () => undefined).catch((error: unknown) => (fault = error));
    await jest.advanceTimersByTimeAsync(11_999);
    expect(fault).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    await ended;
    expect(fault).toBeInstanceOf(AnswerTimeout);
  });
});
