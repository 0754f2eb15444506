import { appendFile, readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { localDisk } from '../../infrastructure/journal/disk.ts';
import { journalLine } from '../../infrastructure/journal/journal-line.ts';
import { isAlive } from '../../infrastructure/journal/journal.ts';
import type { Replayed } from '../../infrastructure/journal/recovery.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { always, type Bench, bytesOf, names, taking, withBenches, wordsOf } from './journal-bench.ts';

const bench = withBenches();

/** What can happen to the processes of one folder. */
const anEvent = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.nat({ max: 12 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('fails' as const),
      what: fc.constantFrom('create' as const, 'append' as const, 'sync' as const),
      count: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('recover' as const), settles: fc.nat({ max: 20 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('robbed' as const), settles: fc.nat({ max: 20 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('killed' as const), half: fc.nat({ max: 11 }) }) },
);

describe('the journal, under any failures of its processes and disk', () => {
  it('settles every record that it acknowledged, and none that it refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anEvent, { maxLength: 20 }), async (events) => {
        const folder = await makeTestFolder('journal');
        const acknowledged: string[] = [];
        const settled = new Map<string, number>();
        let number = 0;
        let processes = 0;
        const next = (): Bench => bench(folder, `p${(processes += 1)}`);
        let one = next();
        /** The database becomes unavailable after `count` records. */
        const replayFor = (count: number) => {
          let left = count;
          return async (record: string): Promise<Replayed> => {
            if (left === 0) return 'later';
            left -= 1;
            settled.set(record, (settled.get(record) ?? 0) + 1);
            return 'settled';
          };
        };
        const append = async (count: number): Promise<void> => {
          const records = Array.from({ length: count }, () => `"${(number += 1)}"`);
          const kept = await wordsOf(records.map((record) => one.journal.append(record)));
          acknowledged.push(...records.filter((_, index) => kept[index] === 'kept'));
        };
        for (const event of events) {
          if (event.kind === 'append') await append(event.count);
          else if (event.kind === 'recover') await one.recover(replayFor(event.settles), always);
          else if (event.kind === 'robbed') await next().recover(replayFor(event.settles), always);
          else if (event.kind === 'fails') {
            one.disk.failing.add(event.what);
            await append(event.count);
            one.disk.failing.clear();
          } else {
            // The process is killed in the middle of a record that was not acknowledged.
            const file = one.journal.names().at(-1);
            const at = path.join(folder, file ?? '');
            if (file !== undefined && (await localDisk.exists(at)))
              await appendFile(at, journalLine('"never told"').slice(0, event.half));
            await one.journal.close();
            one = next();
          }
        }
        await one.recover(replayFor(Number.POSITIVE_INFINITY), always);
        await one.journal.close();
        expect([...settled.keys()].sort()).toEqual(acknowledged.sort());
        expect(await readdir(folder)).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

/** Files with three records each, of processes that have ended. */
async function leftByTheDead(folder: string, files: number): Promise<readonly string[]> {
  const all: string[] = [];
  for (let index = 0; index < files; index += 1) {
    const records = names(3, `${index}-`);
    await writeFile(path.join(folder, `dead${index}-x.000001.journal`), bytesOf(records));
    all.push(...records);
  }
  return all.sort();
}

describe('the files of another process', () => {
  it('are taken over by one of three processes that recover at the same time, and each record is settled once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const folder = await makeTestFolder('journal');
      const records = await leftByTheDead(folder, 20);
      const living = new Set(['a', 'b', 'c']);
      const database = taking();
      const benches = [...living].map((name) => bench(folder, name, { living }));
      await Promise.all(benches.map(({ recover }) => recover(database.replay, always)));
      expect(benches.flatMap(({ recovered }) => recovered)).toEqual(
        Array.from({ length: 20 }, () => ({ settled: 3, refused: 0, damaged: 0, kept: undefined })),
      );
      expect(database.settled.sort()).toEqual(records);
      expect(await readdir(folder)).toEqual([]);
    }
  });

  it('are still recovered after 40 processes in a row took them over and ended', async () => {
    const folder = await makeTestFolder('journal');
    const records = await leftByTheDead(folder, 3);
    for (let round = 0; round < 40; round += 1)
      await bench(folder, `process-number-${round}`).recover(taking(() => 'later').replay, always);
    const database = taking();
    await bench(folder, 'last').recover(database.replay, always);
    expect(database.settled.sort()).toEqual(records);
  });

  it('are not taken over while it is alive, unless they have not been modified for an hour', async () => {
    const folder = await makeTestFolder('journal');
    const file = path.join(folder, 'dead0-x.000001.journal');
    const records = await leftByTheDead(folder, 1);
    const database = taking();
    const living = new Set(['dead0-x', 'b', 'c']);
    await bench(folder, 'b', { living }).recover(database.replay, always);
    expect(database.settled).toEqual([]);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(file, longAgo, longAgo);
    const taker = bench(folder, 'b', { living });
    await taker.recover(taking(() => 'later').replay, always);
    // It now belongs to the process that took it over, and is not abandoned because of its age.
    await bench(folder, 'c', { living }).recover(database.replay, always);
    expect(database.settled).toEqual([]);
    await taker.recover(database.replay, always);
    expect(database.settled).toEqual(records);
  });

  it('that is alive do not keep those of dead ones from being settled', async () => {
    const folder = await makeTestFolder('journal');
    const records = await leftByTheDead(folder, 3);
    const database = taking();
    await bench(folder, 'b', { living: new Set(['dead0-x', 'b']) }).recover(database.replay, always);
    expect(database.settled).toHaveLength((records.length / 3) * 2);
    expect(await readdir(folder)).toEqual(['dead0-x.000001.journal']);
  });

  it('count towards the size of the journal that took them over, until another process takes them over', async () => {
    const folder = await makeTestFolder('journal');
    const records = await leftByTheDead(folder, 4);
    const size = bytesOf(records).length;
    const a = bench(folder, 'a');
    await a.recover(taking(() => 'later').replay, always);
    expect(a.journal.size()).toBe(size / 4);
    const b = bench(folder, 'b');
    await b.recover(taking().replay, always);
    await a.recover(taking(() => 'later').replay, always);
    expect(a.journal.size()).toBe(0);
  });

  it('count as abandoned if its process id is not running, or is our own', () => {
    expect(isAlive(`${process.ppid}-x`)).toBe(true);
    expect(isAlive(`${process.pid}-x`)).toBe(false);
    expect(isAlive('999999999-x')).toBe(false);
    expect(isAlive('something')).toBe(false);
  });
});

describe('a file that was taken over from a running process', () => {
  it('does not affect that process: its next records are kept in another file', async () => {
    const folder = await makeTestFolder('journal');
    const robbed = bench(folder, 'a');
    const database = taking();
    const all: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      const records = names(5, `${round}-`);
      all.push(...records);
      const [kept] = await Promise.all([
        wordsOf(records.map((record) => robbed.journal.append(record))),
        bench(folder, `b${round}`).recover(database.replay, always),
      ]);
      expect(new Set(kept)).toEqual(new Set(['kept']));
    }
    await robbed.recover(database.replay, always);
    expect([...new Set(database.settled)].sort()).toEqual(all.sort());
    expect(robbed.journal.size()).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('recovery while records are appended', () => {
  it('settles each of them once, and rejects none', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, recover, faults } = bench(folder, 'a');
    const database = taking();
    const all: string[] = [];
    const kept: Promise<readonly string[]>[] = [];
    for (let round = 0; round < 100; round += 1) {
      const records = names(1 + (round % 3), `${round}-`);
      all.push(...records);
      kept.push(wordsOf(records.map((record) => journal.append(record))));
      if (round % 3 === 0) await recover(database.replay, always);
      else await Promise.resolve();
    }
    expect(new Set((await Promise.all(kept)).flat())).toEqual(new Set(['kept']));
    await recover(database.replay, always);
    expect(database.settled.sort()).toEqual(all.sort());
    expect(faults).toEqual([]);
  });

  it('loses no record that is appended while its file is being settled', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, recover } = bench(folder, 'a');
    await journal.append('"before"');
    const database = taking();
    const replay = async (record: string): Promise<Replayed> => {
      expect(await wordsOf([journal.append('"meanwhile"')])).toEqual(['kept']);
      return database.replay(record);
    };
    await recover(replay, always);
    await recover(database.replay, always);
    expect(database.settled).toEqual(['"before"', '"meanwhile"']);
    await journal.close();
  });

  it('keeps at most two files after 50 runs with an unavailable database', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, recover } = bench(folder, 'a');
    for (let round = 0; round < 50; round += 1) {
      await journal.append(`"${round}"`);
      await recover(taking(() => 'later').replay, always);
    }
    expect((await readdir(folder)).length).toBeLessThanOrEqual(2);
    await journal.close();
  });

  it('stops when its callback returns false, and settles the rest in the next run', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, recover } = bench(folder, 'a');
    for (const record of names(10)) await journal.append(record);
    const database = taking();
    await recover(database.replay, () => database.settled.length < 4);
    expect(database.settled).toEqual(names(4));
    await recover(database.replay, always);
    expect(new Set(database.settled)).toEqual(new Set(names(10)));
  });
});
