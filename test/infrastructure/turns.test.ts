import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { turns } from '../../infrastructure/large-bodies/turns.ts';

describe('work of several owners', () => {
  const done: string[] = [];
  const piece = (name: string) => async (): Promise<string> => {
    await Promise.resolve();
    done.push(name);
    return name;
  };

  it('is done in turns: other owners do not wait for all pieces of the first one, and each owner keeps its order', async () => {
    const work = turns();
    done.length = 0;
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => work.take(name[0] ?? '', piece(name)));
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
    // `a1` starts at once, so that `a` is again the first owner in the queue when `a2` arrives.
    expect(done).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('runs one piece at a time, every owner in its order, and serves another owner between two pieces of one', async () => {
    const owners = ['a', 'b', 'c', 'd'];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...owners), { maxLength: 30 }), async (queue) => {
        const work = turns();
        let running = 0;
        const ended: { owner: string; number: number }[] = [];
        const pieces = queue.map((owner, number) =>
          work.take(owner, async () => {
            expect((running += 1)).toBe(1);
            await Promise.resolve();
            running -= 1;
            ended.push({ owner, number });
          }),
        );
        await Promise.all(pieces);
        for (const owner of owners)
          expect(ended.filter((each) => each.owner === owner)).toEqual(
            queue.flatMap((each, number) => (each === owner ? [{ owner, number }] : [])),
          );
        // All are in the queue once the first piece runs, so an owner is served twice in a row only if no other waits.
        for (let at = 2; at < ended.length; at += 1)
          if (ended[at]?.owner === ended[at - 1]?.owner)
            expect(new Set(ended.slice(at).map(({ owner }) => owner)).size).toBe(1);
      }),
    );
  });

  it('goes on after a piece that fails', async () => {
    const work = turns();
    const failing = work.take('a', () => Promise.reject(new Error('no')));
    const next = work.take('a', piece('next'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('next');
  });
});
