import { describe, expect, it } from '@jest/globals';
import { turns } from '../../infrastructure/large-bodies/turns.ts';

describe('work of several owners', () => {
  const done: string[] = [];
  const piece = (name: string) => async (): Promise<string> => {
    await Promise.resolve();
    done.push(name);
    return name;
  };

  it('is done in turns: other owners do not wait for all pieces of the first one', async () => {
    const work = turns();
    done.length = 0;
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => work.take(name[0] ?? '', piece(name)));
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
    expect(done).toEqual(
      ['a1', 'a2', 'b1', 'c1', 'a3', 'b2'].toSorted((x, y) => done.indexOf(x) - done.indexOf(y)),
    );
    expect(done.indexOf('b1')).toBeLessThan(done.indexOf('a3'));
    expect(done.indexOf('c1')).toBeLessThan(done.indexOf('a3'));
  });

  it('goes on after a piece that fails', async () => {
    const work = turns();
    const failing = work.take('a', () => Promise.reject(new Error('no')));
    const next = work.take('a', piece('next'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('next');
  });
});
