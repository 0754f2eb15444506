import { afterEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions } from '../../application/families.ts';
import type { LargeBody } from '../../application/ports/large-bodies.ts';
import { sharedText } from '../../application/ports/shared-text.ts';
import { overloaded } from '../../domain/shared/gateway-error.ts';
import { largeBodies, type LargeBodyThread } from '../../infrastructure/large-bodies/large-bodies.ts';
import { executor } from '../../infrastructure/providers/executor.ts';

let threads: LargeBodyThread;
const faults: unknown[] = [];

const start = (heapMb?: number): void => {
  threads = largeBodies(
    executor(() => undefined),
    { onFault: (error) => faults.push(error), ...(heapMb === undefined ? {} : { heapMb }) },
  );
};

afterEach(async () => {
  faults.length = 0;
  await threads.close();
});

let made = 0;
const bodyOf = (text: string, over: Partial<LargeBody> = {}): LargeBody => ({
  id: `body ${(made += 1)}`,
  text: sharedText([Buffer.from(text)]),
  scope: 'user:a',
  family: 'chat_completions',
  maxValues: 10_000_000,
  ...over,
});

const chat = '{"model":"fast","stream":true,"messages":[{"role":"user","content":"Hi"}],"tools":[{}]}';
const heavyOf = (values: number): string =>
  `{"model":"fast","messages":[{"role":"user","content":"Hi"}],"metadata":[${'{},'.repeat(values)}{}]}`;

describe('a body that is parsed in a worker thread', () => {
  it('has the same result as one that is parsed on the event loop', async () => {
    start();
    const here = chatCompletions.read(chat);
    if (E.isLeft(here)) throw new Error(here.left.message);
    const { document: _, ...terms } = here.right;
    expect(await threads.read(bodyOf(chat))).toEqual(E.right(terms));
    expect(await threads.read(bodyOf('{"model":7}'))).toEqual(chatCompletions.read('{"model":7}'));
    expect(await threads.read(bodyOf('{"model":'))).toEqual(chatCompletions.read('{"model":'));
  });

  it('has its own result, also after another body was read', async () => {
    start();
    const [first, second] = [bodyOf(chat), bodyOf(chat.replace('fast', 'slow'))];
    await threads.read(first);
    expect(await threads.read(second)).toMatchObject({ right: { model: 'slow' } });
    expect(await threads.read(first)).toMatchObject({ right: { model: 'fast' } });
  });

  it('does not block the event loop', async () => {
    start();
    await threads.read(bodyOf(chat));
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 5);
    await threads.read(bodyOf(heavyOf(600_000)));
    clearInterval(turning);
    expect(turns).toBeGreaterThan(3);
  });

  it('is `overloaded` and ends its thread if it exceeds the memory limit, and the next body is read', async () => {
    start(40);
    expect(await threads.read(bodyOf(heavyOf(1_500_000)))).toEqual(E.left(overloaded));
    expect(faults).toEqual([expect.objectContaining({ code: 'ERR_WORKER_OUT_OF_MEMORY' })]);
    expect(await threads.read(bodyOf(chat))).toMatchObject({ _tag: 'Right' });
  });

  it('is `overloaded` when the threads are closed, and so are all waiting bodies', async () => {
    start();
    const reads = Array.from({ length: 4 }, () => threads.read(bodyOf(heavyOf(100_000))));
    await threads.close();
    expect(await Promise.all(reads)).toEqual(reads.map(() => E.left(overloaded)));
    expect(faults).toEqual([]);
  });
});
