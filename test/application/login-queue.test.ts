import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { fairTurns } from '../../application/admin/fair-turns.ts';
import { loginQueue, type LoginTurns } from '../../application/admin/login-queue.ts';

/** Work that the test ends. */
function held() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      begun.push(name);
      ends.push(() => resolve(name));
    });
  return { begun, work, end: () => ends.shift()?.(), endAll: () => ends.splice(0).forEach((end) => end()) };
}

const from = (
  account: string,
  address: string,
  whenGone: (callback: () => void) => void = () => undefined,
) => ({
  account,
  address,
  network: address.replace(/\.\d+$/, ''),
  whenGone,
});

/** A login that only hashes. */
const hashing =
  (work: () => Promise<string>) =>
  ({ hashing: turn }: LoginTurns) =>
    turn(work);

describe('concurrent logins', () => {
  it('for one account from one address run one after another, and all others in parallel', async () => {
    const { begun, work, endAll } = held();
    const line = loginQueue();
    const all = [
      line(from('a', '1'), work('a1')),
      line(from('a', '1'), work('a1 again')),
      line(from('b', '1'), work('b1')),
      line(from('a', '2'), work('a2')),
    ];
    await nextTurn();
    expect(begun).toEqual(['a1', 'b1', 'a2']);
    endAll();
    await nextTurn();
    expect(begun).toEqual(['a1', 'b1', 'a2', 'a1 again']);
    endAll();
    expect(await Promise.all(all)).toEqual(['a1', 'a1 again', 'b1', 'a2']);
  });

  it('continue after one fails', async () => {
    const line = loginQueue();
    const failing = line(from('a', '1'), async () => {
      throw new Error('the database is away');
    });
    const next = line(from('a', '1'), async () => 'in');
    await expect(failing).rejects.toThrow('the database is away');
    expect(await next).toBe('in');
  });

  it('release the hashing slot when the hashing fails', async () => {
    const line = loginQueue();
    const all = Array.from({ length: 8 }, (_, n) =>
      line(
        from('a', `1.${n}`),
        hashing(async () => {
          throw new Error('the database is away');
        }),
      ),
    );
    for (const each of all) await expect(each).rejects.toThrow('the database is away');
    expect(
      await line(
        from('a', '1.1'),
        hashing(async () => 'in'),
      ),
    ).toBe('in');
  });

  it('are limited to sixteen per address, and a slot is free again after each', async () => {
    const { begun, work, endAll } = held();
    const line = loginQueue();
    const ofOne = Array.from({ length: 17 }, (_, n) => line(from(`a${n}`, '1'), work('one')));
    expect(await ofOne[16]).toBeUndefined();
    const other = line(from('a', '2'), work('other'));
    await nextTurn();
    expect(begun).toHaveLength(17);
    endAll();
    await Promise.all([...ofOne, other]);
    expect(await line(from('a', '1'), async () => 'in')).toBe('in');
  });

  it('hash two at once, in turns by network and then by address', async () => {
    const { begun, work, end } = held();
    const line = loginQueue();
    const logins = ['1.1', '1.1', '1.1', '1.1', '1.2', '2.1', '2.1', '3.1'];
    const all = logins.map((address, n) => line(from(`${n}`, address), hashing(work(address))));
    for (let n = 0; n < logins.length; n += 1) {
      await nextTurn();
      expect(begun).toHaveLength(Math.min(n + 2, logins.length));
      end();
    }
    // Network 1 took the two free slots, so 2 and 3 each have a turn next. Then 1.2 goes before the third turn of 1.1.
    expect(begun).toEqual(['1.1', '1.1', '2.1', '3.1', '1.2', '2.1', '1.1', '1.1']);
    await Promise.all(all);
  });

  it('serve the network whose last turn is the oldest first, even if others have waited longer', async () => {
    const { begun, work, end } = held();
    const line = loginQueue();
    const enter = (address: string, n: number) => line(from(`${n}`, address), hashing(work(address)));
    const flood = Array.from({ length: 30 }, (_, n) => enter(`${n % 3}.1`, n));
    await nextTurn();
    for (let n = 0; n < 9; n += 1) {
      end();
      await nextTurn();
    }
    const late = enter('9.9', 99);
    await nextTurn();
    end();
    await nextTurn();
    expect(begun.at(-1)).toBe('9.9');
    while (begun.length < 31) {
      end();
      await nextTurn();
    }
    end();
    end();
    await Promise.all([...flood, late]);
  });

  it('skip a login whose client disconnects before its turn, and free its slot', async () => {
    const { begun, work, endAll } = held();
    const line = loginQueue();
    const running = ['1.1', '2.1'].map((address) => line(from('a', address), hashing(work(address))));
    const leave: (() => void)[] = [];
    const left = Array.from({ length: 16 }, (_, n) =>
      line(
        from(`${n}`, '3.1', (callback) => leave.push(callback)),
        hashing(work('left')),
      ),
    );
    await nextTurn();
    for (const each of leave) each();
    expect(await Promise.all(left)).toEqual(left.map(() => undefined));
    const next = line(from('a', '3.1'), hashing(work('next')));
    endAll();
    await nextTurn();
    endAll();
    expect(await Promise.all([...running, next])).toEqual(['1.1', '2.1', 'next']);
    expect(begun).toEqual(['1.1', '2.1', 'next']);
  });

  it('drop the logins of the largest network that have waited longest when the queue is full', async () => {
    const { work, endAll } = held();
    const line = loginQueue();
    const sentAway: string[] = [];
    const enter = (address: string, name: string) =>
      line(from(name, address), hashing(work(name))).then((result) => {
        if (result === undefined) sentAway.push(name);
      });
    const all = [enter('1.1', 'running'), enter('1.2', 'running too')];
    for (let n = 0; n < 100; n += 1) all.push(enter(`2.${Math.floor(n / 10)}`, `two ${n}`));
    for (let n = 0; n < 922; n += 1) all.push(enter(`3.${Math.floor(n / 10)}`, `three ${n}`));
    await nextTurn();
    expect(sentAway).toEqual([]);
    all.push(enter('4.1', 'new'), enter('5.1', 'newer'));
    await nextTurn();
    expect(sentAway).toEqual(['three 0', 'three 1']);
    for (let n = 0; n < 600; n += 1) {
      endAll();
      await nextTurn();
    }
    await Promise.all(all);
    // All slots are released, so later logins are served.
    const later = Array.from({ length: 20 }, (_, n) => enter(`6.${n}`, `six ${n}`));
    for (let n = 0; n < later.length; n += 1) {
      endAll();
      await nextTurn();
    }
    await Promise.all(later);
    expect(sentAway).toHaveLength(2);
  });

  it.each([
    ['is remembered for 1,024 networks', 1023, ['new', 'early']],
    ['is forgotten for the network before them', 1024, ['early', 'new']],
  ])('take turns by the last turn of a network, which %s', async (_, others, order) => {
    const turns = fairTurns(1);
    const begun: string[] = [];
    const enter = (network: string, work: () => Promise<void> = nextTurn) =>
      turns.run({ address: network, network }, new AbortController().signal, () => {
        begun.push(network);
        return work();
      });
    const running = Promise.withResolvers<void>();
    for (const network of ['early', ...Array.from({ length: others }, (_, n) => `${n}`)])
      await enter(network, async () => undefined);
    const all = [enter('0', () => running.promise), enter('early'), enter('new')];
    running.resolve();
    await Promise.all(all);
    expect(begun.slice(-2)).toEqual(order);
  });
});
