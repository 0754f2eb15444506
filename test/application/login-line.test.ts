import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { loginLine } from '../../application/admin/login-line.ts';

/** Work that ends when it is told to. */
function held() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      begun.push(name);
      ends.push(() => resolve(name));
    });
  return { begun, work, endAll: () => ends.splice(0).forEach((end) => end()) };
}

describe('logins under way', () => {
  it('those for one account from one address go one after the other, all others beside them', async () => {
    const { begun, work, endAll } = held();
    const line = loginLine();
    const all = [
      line('a', '1', work('a1')),
      line('a', '1', work('a1 again')),
      line('b', '1', work('b1')),
      line('a', '2', work('a2')),
    ];
    await nextTurn();
    expect(begun).toEqual(['a1', 'b1', 'a2']);
    endAll();
    await nextTurn();
    expect(begun).toEqual(['a1', 'b1', 'a2', 'a1 again']);
    endAll();
    expect(await Promise.all(all)).toEqual(['a1', 'a1 again', 'b1', 'a2']);
  });

  it('one that fails does not stop the next', async () => {
    const line = loginLine();
    const failing = line('a', '1', async () => {
      throw new Error('the database is away');
    });
    const next = line('a', '1', async () => 'in');
    await expect(failing).rejects.toThrow('the database is away');
    expect(await next).toBe('in');
  });

  it('sixteen of one address and sixty-four in all are the most, and a place is free again after each', async () => {
    const { begun, work, endAll } = held();
    const line = loginLine();
    const ofOne = Array.from({ length: 17 }, (_, n) => line(`a${n}`, '1', work('one')));
    expect(await ofOne[16]).toBeUndefined();
    const others = Array.from({ length: 49 }, (_, n) => line('a', `other ${n}`, work('other')));
    expect(await others[48]).toBeUndefined();
    expect(begun).toHaveLength(64);
    endAll();
    await Promise.all([...ofOne, ...others]);
    expect(await line('a', '1', async () => 'in')).toBe('in');
  });
});
