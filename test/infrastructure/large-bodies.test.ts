import { afterEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions } from '../../application/families.ts';
import type { LargeBody } from '../../application/ports/large-bodies.ts';
import { sharedText } from '../../application/ports/shared-text.ts';
import type { CallTerms } from '../../application/ports/upstream.ts';
import { overloaded } from '../../domain/shared/gateway-error.ts';
import { largeBodies, type LargeBodyThread } from '../../infrastructure/large-bodies/large-bodies.ts';
import { largeWork } from '../../infrastructure/large-bodies/work.ts';
import { executor } from '../../infrastructure/providers/executor.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import { platformBConfig } from '../support/platform-b-config.ts';

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

  it('has its own result, also after another body was read or together with others', async () => {
    start();
    const [first, second] = [bodyOf(chat), bodyOf(chat.replace('fast', 'slow'))];
    await threads.read(first);
    expect(await threads.read(second)).toMatchObject({ right: { model: 'slow' } });
    expect(await threads.read(first)).toMatchObject({ right: { model: 'fast' } });
    const bodies = Array.from({ length: 30 }, (_, index) =>
      bodyOf(chat.replace('fast', `model-${index}`), { scope: `user:${index % 3}` }),
    );
    expect(await Promise.all(bodies.map((body) => threads.read(body)))).toMatchObject(
      bodies.map((_, index) => ({ right: { model: `model-${index}` } })),
    );
  });

  it('never shares its document with another one, in any order of reading and writing', () => {
    const terms: CallTerms = {
      route: aRoute({ upstreamModel: 'm', compatibility: { cloud_b: { api_style: 'runtime_unified' } } }),
      family: 'chat_completions',
      stream: false,
      answer: { id: 'chatcmpl-1', model: 'm', createdSecs: 1 },
      betas: [],
    };
    const said = ['first', 'second', 'third'];
    const step = fc.record({ which: fc.nat({ max: 2 }), writes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const work = largeWork();
        const bodies = said.map((content) =>
          bodyOf(JSON.stringify({ model: content, messages: [{ role: 'user', content }] })),
        );
        for (const { which, writes } of steps) {
          const body = bodies[which]!;
          if (!writes) expect(work.read({ body })).toMatchObject({ right: { model: said[which] } });
          else {
            const written = work.write({ body, terms, config: platformBConfig });
            const [part] = E.isRight(written) ? written.right : [];
            expect(JSON.parse(Buffer.from(part?.body ?? '').toString())).toMatchObject({
              messages: [{ role: 'user', content: [{ text: said[which] }] }],
            });
          }
        }
      }),
    );
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
