import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { sql } from 'slonik';
import type { Connection } from '../../infrastructure/postgres/connection.ts';
import { ConnectionShare } from '../../infrastructure/postgres/connection-share.ts';
import { Connections } from '../../infrastructure/postgres/connections.ts';
import { AnswerTimeout } from '../../infrastructure/postgres/database-fault.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';

/** A fake connection, which is open or closed and does no queries. */
class Line implements Connection {
  readonly id: string;
  private readonly told: (() => void)[] = [];
  private closed = false;

  constructor(id: string) {
    this.id = id;
  }

  readonly isOpen = (): boolean => !this.closed;
  readonly query = () => Promise.reject(new Error('is not asked'));
  readonly call = this.query;
  readonly close = async (): Promise<void> => {
    this.closed = true;
    for (const tell of this.told.splice(0)) tell();
  };
  readonly whenClosed: Connection['whenClosed'] = (tell) => {
    this.told.push(() => tell(undefined));
    return () => undefined;
  };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

/** Connections to a server at which the test accepts or refuses each attempt to connect. */
function underTest(max: number) {
  const opened: Line[] = [];
  const atTheDoor: { readonly enter: () => void; readonly refuse: () => void }[] = [];
  const connections = new Connections(
    () =>
      new Promise((resolve, reject) => {
        atTheDoor.push({
          enter: () => {
            const line = new Line(`line ${opened.length}`);
            opened.push(line);
            resolve(line);
          },
          refuse: () => reject(new Error('connect ECONNREFUSED')),
        });
      }),
    max,
  );
  const taken: { fate: Connection | Error | undefined }[] = [];
  const take = (): { fate: Connection | Error | undefined } => {
    const place: { fate: Connection | Error | undefined } = { fate: undefined };
    taken.push(place);
    connections.take().then(
      (connection) => (place.fate = connection),
      (error: unknown) => (place.fate = error instanceof Error ? error : new Error(String(error))),
    );
    return place;
  };
  return { connections, opened, atTheDoor, taken, take };
}

const isLine = (fate: Connection | Error | undefined): fate is Line => fate instanceof Line;

type Scene = ReturnType<typeof underTest>;

const inHands = ({ taken }: Scene): readonly Line[] => taken.map(({ fate }) => fate).filter(isLine);

function happen(scene: Scene, what: string, at: number): void {
  const { connections, atTheDoor, opened, taken, take } = scene;
  const held = inHands(scene);
  const line = held[at % Math.max(1, held.length)];
  const leave = (how: (left: Line) => void): void => {
    if (line === undefined) return;
    for (const each of taken) if (each.fate === line) each.fate = new Error('left');
    how(line);
  };
  const events: Readonly<Record<string, () => unknown>> = {
    take,
    enter: () => atTheDoor.shift()?.enter(),
    refuse: () => atTheDoor.shift()?.refuse(),
    give: () => leave((left) => connections.give(left)),
    drop: () => leave((left) => connections.drop(left)),
    'breaks idle': () => opened.find((each) => each.isOpen() && !held.includes(each))?.close(),
    'breaks in use': () => line?.close(),
  };
  events[what]?.();
}

function expectOrder(scene: Scene, max: number): void {
  const { used, idle, waiting } = scene.connections.counts();
  const atTheDoor = scene.atTheDoor.length;
  const held = inHands(scene);
  expect(new Set(held).size).toBe(held.length);
  expect([used, waiting]).toEqual([held.length, scene.taken.filter(({ fate }) => fate === undefined).length]);
  expect(used + idle + atTheDoor).toBeLessThanOrEqual(max);
  if (waiting > 0) expect([idle, atTheDoor > 0 || used === max]).toEqual([0, true]);
}

describe('the connections of a process', () => {
  it('are reused, the last one returned first, and opened only if none is idle', async () => {
    const { connections, atTheDoor, take, opened } = underTest(3);
    const first = take();
    const second = take();
    for (const { enter } of atTheDoor.splice(0)) enter();
    await settled();
    const [a, b] = [first.fate, second.fate];
    if (!isLine(a) || !isLine(b)) throw new Error('nobody was let in');
    connections.give(a);
    connections.give(b);
    const next = take();
    await settled();
    expect([next.fate, opened.length, connections.counts()]).toEqual([
      b,
      2,
      { used: 1, idle: 1, waiting: 0 },
    ]);
  });

  it('fail the longest waiter if the server refuses to connect, and try again for the next', async () => {
    const { atTheDoor, take } = underTest(1);
    const [first, second] = [take(), take()];
    atTheDoor.shift()?.refuse();
    await settled();
    expect([first.fate, second.fate]).toEqual([new Error('connect ECONNREFUSED'), undefined]);
    atTheDoor.shift()?.enter();
    await settled();
    expect(isLine(second.fate)).toBe(true);
  });

  it('never exceed their limit or have two users, and none is idle while a caller waits, for any events', async () => {
    const step = fc.constantFrom('take', 'enter', 'refuse', 'give', 'drop', 'breaks idle', 'breaks in use');
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.tuple(step, fc.nat(5)), { maxLength: 60 }),
        async (max, steps) => {
          const scene = underTest(max);
          for (const [what, at] of steps) {
            happen(scene, what, at);
            await settled();
            expectOrder(scene, max);
          }
        },
      ),
    );
  });

  it('are returned unused if the caller has timed out', async () => {
    const { connections, atTheDoor, opened } = underTest(1);
    let begun = false;
    const work = async (): Promise<void> => void (begun = true);
    await expect(connections.use(work, 1)).rejects.toBeInstanceOf(AnswerTimeout);
    atTheDoor.shift()?.enter();
    await settled();
    expect([begun, opened[0]?.isOpen(), connections.counts()]).toEqual([
      false,
      true,
      { used: 0, idle: 1, waiting: 0 },
    ]);
    await connections.end();
  });

  it('are closed at the end, those in use when they are returned, and waiting callers fail', async () => {
    const { connections, atTheDoor, take } = underTest(1);
    const [first, second] = [take(), take()];
    atTheDoor.shift()?.enter();
    await settled();
    await connections.end();
    if (!isLine(first.fate)) throw new Error('nobody was let in');
    expect([first.fate.isOpen(), second.fate]).toEqual([true, expect.any(Error)]);
    connections.give(first.fate);
    const third = take();
    await settled();
    expect([first.fate.isOpen(), third.fate]).toEqual([false, expect.any(Error)]);
  });
});

describe('a share of the connections', () => {
  it('has at most its number in use; the place of one that is returned, dropped or refused is free again', async () => {
    const { connections, atTheDoor } = underTest(4);
    const share = new ConnectionShare(connections, 2);
    const fates: (Connection | Error)[] = [];
    const take = (): void =>
      void share.take().then(
        (connection) => fates.push(connection),
        (error: Error) => fates.push(error),
      );
    for (let each = 0; each < 5; each += 1) take();
    expect(atTheDoor).toHaveLength(2);
    atTheDoor.shift()?.enter();
    atTheDoor.shift()?.enter();
    await settled();
    const [first, second] = fates;
    if (!isLine(first) || !isLine(second)) throw new Error('nobody was let in');
    expect(connections.counts()).toEqual({ used: 2, idle: 0, waiting: 0 });
    share.give(first);
    await settled();
    expect([fates[2], connections.counts()]).toEqual([first, { used: 2, idle: 0, waiting: 0 }]);
    share.drop(second);
    await settled();
    atTheDoor.shift()?.refuse();
    await settled();
    expect(fates[3]).toBeInstanceOf(Error);
    atTheDoor.shift()?.enter();
    await settled();
    expect([isLine(fates[4]), connections.counts()]).toEqual([true, { used: 2, idle: 0, waiting: 0 }]);
    await connections.end();
  });
});

describe('queries that bypass slonik', () => {
  const database = withDatabase();

  it('share its connections, which are available again after an answer, an error and a timeout', async () => {
    const pool = await openPool(database.url(), 1);
    const { connections } = pool;
    const ask = async (text: string, withinMs: number): Promise<unknown> =>
      (await connections.use((connection) => connection.query(text, []), withinMs)).rows;
    const pid = 'select pg_backend_pid() as pid';
    try {
      const first = await ask(pid, 5000);
      const together = await Promise.all([
        ask(pid, 5000),
        pool.transaction(async (transaction) => {
          await transaction.query(sql.unsafe`select pg_sleep(0.05)`);
          return transaction.any(sql.unsafe`select pg_backend_pid() as pid`);
        }),
        ask('select 1 / 0', 5000).catch(E.left),
        ask(pid, 5000),
      ]);
      expect(together).toEqual([first, first, expect.objectContaining({ _tag: 'Left' }), first]);
      await expect(ask('select pg_sleep(0.5)', 100)).rejects.toBeInstanceOf(AnswerTimeout);
      const next = await ask(pid, 5000);
      expect(next).not.toEqual(first);
      expect(connections.counts()).toEqual({ used: 0, idle: 1, waiting: 0 });
    } finally {
      await pool.end();
    }
  });
});
