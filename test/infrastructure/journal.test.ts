import { appendFile, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { SettlementRecord } from '../../application/ports/ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { type Disk, localDisk } from '../../infrastructure/journal/disk.ts';
import { FileJournal, type JournalFault } from '../../infrastructure/journal/file-journal.ts';
import { journalContent, journalLine } from '../../infrastructure/journal/journal-line.ts';
import { isAlive, localJournal } from '../../infrastructure/journal/journal.ts';
import { journalRecovery, type RecoveredFile, type Replayed } from '../../infrastructure/journal/recovery.ts';
import { replayJournaled } from '../../infrastructure/postgres/ledger-store.ts';
import {
  aRecord,
  aTeam,
  aUser,
  openLedger,
  type OpenLedger,
  pricedAt,
  rowsOf,
  scopeOf,
  settleTogether,
  setUserBudget,
  spendOf,
  unit,
  unpriced,
  userIdOf,
  withClock,
  withLedgers,
  wordOf,
} from '../contract/ledger-bench.ts';
import { tcpProxy, type TcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';

/** As JSON text is: any characters but the end of a line. */
const aText = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text.toWellFormed()));
const someTexts = fc.array(aText, { minLength: 1, maxLength: 8 });

const bytesOf = (records: readonly string[]): Buffer => Buffer.from(records.map(journalLine).join(''));
const recordsIn = (bytes: Buffer) => journalContent(bytes.toString('utf8'));

describe('a file of the journal', () => {
  it('that a crash cut at any byte holds exactly the whole records before the cut', () => {
    fc.assert(
      fc.property(someTexts, (records) => {
        const bytes = bytesOf(records);
        const ends = records.map((_, index) => bytesOf(records.slice(0, index + 1)).length);
        for (let at = 0; at <= bytes.length; at += 1) {
          const whole = ends.filter((end) => end <= at);
          expect(recordsIn(bytes.subarray(0, at))).toEqual({
            records: records.slice(0, whole.length),
            damaged: 0,
            cut: at !== 0 && at !== whole.at(-1),
          });
        }
      }),
      { numRuns: 30 },
    );
  });

  it('of which a byte is damaged loses that line alone, or two that became one, and says so', () => {
    fc.assert(
      fc.property(someTexts, fc.nat(), fc.integer({ min: 1, max: 255 }), (records, place, change) => {
        const bytes = bytesOf(records);
        const at = place % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const { records: read, damaged, cut } = recordsIn(bytes);
        const line = bytesOf(records).subarray(0, at).toString('latin1').split('\n').length - 1;
        const lost = (from: number, count: number) => records.filter((_, i) => i < from || i >= from + count);
        expect([lost(line, 1), lost(line, 2)]).toContainEqual(read);
        expect(damaged > 0 || cut).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

/** A disk whose work a test can hold up, or make fail. */
function testDisk() {
  const failing = new Set<'create' | 'append' | 'sync' | 'truncate'>();
  let gate: Promise<void> | undefined;
  let syncs = 0;
  const fail = (what: 'create' | 'append' | 'sync' | 'truncate'): void => {
    if (failing.has(what)) throw Object.assign(new Error('the disk failed'), { code: 'EIO' });
  };
  const disk: Disk = {
    ...localDisk,
    create: async (at) => {
      fail('create');
      const file = await localDisk.create(at);
      return {
        ...file,
        append: async (text) => {
          // It is full in the middle of a record.
          if (failing.has('append')) await file.append(text.slice(0, text.length - 5));
          fail('append');
          await file.append(text);
        },
        sync: async () => {
          await gate;
          fail('sync');
          await file.sync();
          syncs += 1;
        },
        truncate: async (bytes) => {
          fail('truncate');
          await file.truncate(bytes);
        },
      };
    },
  };
  return {
    disk,
    failing,
    syncs: () => syncs,
    /** Nothing is synced until the returned function is called. */
    hold: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = undefined;
        resolve();
      };
    },
  };
}

/** A disk with room for so many bytes: what does not fit is written as far as it goes, as a full disk does. */
function smallDisk(room: number): Disk {
  const used = new Map<string, number>();
  const total = (): number => [...used.values()].reduce((sum, bytes) => sum + bytes, 0);
  return {
    ...localDisk,
    create: async (at) => {
      const file = await localDisk.create(at);
      used.set(at, 0);
      const take = async (bytes: Buffer): Promise<void> => {
        await file.append(bytes.toString());
        used.set(at, (used.get(at) ?? 0) + bytes.length);
      };
      return {
        ...file,
        append: async (text) => {
          const bytes = Buffer.from(text);
          const left = room - total();
          await take(bytes.subarray(0, left));
          if (bytes.length > left) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
        },
        truncate: async (bytes) => {
          await file.truncate(bytes);
          used.set(at, bytes);
        },
      };
    },
    remove: async (at) => {
      await localDisk.remove(at);
      used.delete(at);
    },
  };
}

interface Bench {
  readonly journal: FileJournal;
  readonly recover: ReturnType<typeof journalRecovery>;
  readonly recovered: RecoveredFile[];
  readonly faults: unknown[];
  readonly disk: ReturnType<typeof testDisk>;
}

/** Node takes it for a fault when a file that is open is collected. */
const benches: FileJournal[] = [];
afterEach(async () => {
  await Promise.all(benches.splice(0).map((journal) => journal.close()));
});

/** A journal of one process with a name of its own; `living` are the names of those that are there. */
function bench(
  directory: string,
  name: string,
  { maxBytes = 1_000_000, living = new Set<string>() } = {},
): Bench {
  const recovered: RecoveredFile[] = [];
  const faults: unknown[] = [];
  const disk = testDisk();
  const onFault = (error: unknown): void => void faults.push(error);
  const journal = new FileJournal({ directory, name, maxBytes, disk: disk.disk, onFault });
  benches.push(journal);
  const recover = journalRecovery({
    directory,
    journal,
    isAlive: (owner) => living.has(owner),
    onRecovered: (file) => void recovered.push(file),
  });
  return { journal, recover, recovered, faults, disk };
}

const wordsOf = async (kept: readonly Promise<E.Either<JournalFault, void>>[]): Promise<readonly string[]> =>
  (await Promise.all(kept)).map((each) => (E.isLeft(each) ? each.left : 'kept'));

/** A database that takes everything, but for what the test says. */
function taking(verdictOf: (record: string) => Replayed = () => 'settled') {
  const settled: string[] = [];
  const replay = async (record: string): Promise<Replayed> => {
    await Promise.resolve();
    const verdict = verdictOf(record);
    if (verdict === 'settled') settled.push(record);
    return verdict;
  };
  return { replay, settled };
}

const always = () => true;
const names = (count: number, prefix = 'r'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `"${prefix}${index}"`);

const contentsOf = async (folder: string): Promise<readonly string[]> =>
  (
    await Promise.all((await readdir(folder)).map((name) => readFile(path.join(folder, name), 'utf8')))
  ).flatMap((text) => journalContent(text).records);

describe('a record', () => {
  it('is acknowledged after its fsync and not before', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, disk } = bench(folder, 'a');
    const release = disk.hold();
    let known = false;
    const kept = journal.append('"r"').then((word) => {
      known = true;
      return word;
    });
    while ((await contentsOf(folder).catch(() => [])).length === 0) await Promise.resolve();
    expect(known).toBe(false);
    release();
    expect(E.isRight(await kept)).toBe(true);
    expect(await contentsOf(folder)).toEqual(['"r"']);
    await journal.close();
  });

  it('shares its fsync with all that wait at the same time', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, disk } = bench(folder, 'a');
    const release = disk.hold();
    const first = journal.append('"first"');
    while (!(await readdir(folder)).some(() => true)) await Promise.resolve();
    const others = names(200).map((record) => journal.append(record));
    release();
    expect(new Set(await wordsOf([first, ...others]))).toEqual(new Set(['kept']));
    expect(disk.syncs()).toBe(2);
    expect(await contentsOf(folder)).toEqual(['"first"', ...names(200)]);
    await journal.close();
  });

  it('is refused when the journal is full, until what is in it is settled', async () => {
    const folder = await makeTestFolder('journal');
    const line = journalLine('"r0"').length;
    const { journal, recover } = bench(folder, 'a', { maxBytes: 3 * line });
    expect(await wordsOf(names(5).map((record) => journal.append(record)))).toEqual([
      'kept',
      'kept',
      'kept',
      'full',
      'full',
    ]);
    expect(journal.size()).toBe(3 * line);
    await recover(taking(() => 'later').replay, always);
    expect(await wordsOf([journal.append('"r6"')])).toEqual(['full']);
    const database = taking();
    await recover(database.replay, always);
    expect(database.settled).toEqual(names(3));
    expect(journal.size()).toBe(0);
    expect(await wordsOf([journal.append('"r7"')])).toEqual(['kept']);
    await journal.close();
  });

  it.each(['create', 'append', 'sync'] as const)(
    'is refused when the disk fails (%s), leaves nothing behind, and harms no other',
    async (what) => {
      const folder = await makeTestFolder('journal');
      const { journal, recover, faults, disk } = bench(folder, 'a', { maxBytes: 400 });
      if (what !== 'create') expect(await wordsOf([journal.append('"before"')])).toEqual(['kept']);
      for (let round = 0; round < 20; round += 1) {
        disk.failing.add(what);
        expect(await wordsOf([journal.append('"refused 1"'), journal.append('"refused 2"')])).toEqual([
          'disk',
          'disk',
        ]);
      }
      expect(faults).toHaveLength(20);
      disk.failing.clear();
      expect(await wordsOf([journal.append('"after"')])).toEqual(['kept']);
      const database = taking();
      await recover(database.replay, always);
      expect(database.settled).toEqual(what === 'create' ? ['"after"'] : ['"before"', '"after"']);
      expect(journal.size()).toBe(0);
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it('may still be settled when the disk refused it and did not let it be taken out again', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, recover, faults, disk } = bench(folder, 'a');
    expect(await wordsOf([journal.append('"before"')])).toEqual(['kept']);
    disk.failing.add('sync').add('truncate');
    expect(await wordsOf([journal.append('"r"')])).toEqual(['disk']);
    expect(faults).toHaveLength(2);
    disk.failing.clear();
    const database = taking();
    await recover(database.replay, always);
    expect(database.settled).toEqual(['"before"', '"r"']);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a small disk', () => {
  it('takes what fits of a batch, from its first record on, and holds nothing of the others', async () => {
    const sizes = fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(sizes, { minLength: 1, maxLength: 3 }),
        fc.nat({ max: 4000 }),
        async (batches, room) => {
          const folder = await makeTestFolder('journal');
          const journal = new FileJournal({
            directory: folder,
            name: 'a',
            maxBytes: 1_000_000,
            disk: smallDisk(room),
            onFault: () => undefined,
          });
          const kept: string[] = [];
          let left = room;
          for (const [batch, records] of batches.entries()) {
            const texts = records.map((size, index) =>
              JSON.stringify(`${batch}.${index}.${'x'.repeat(size)}`),
            );
            const words = await wordsOf(texts.map((text) => journal.append(text)));
            let full = false;
            const fits = texts.map((text) => {
              full ||= journalLine(text).length > left;
              if (!full) left -= journalLine(text).length;
              return full ? 'disk' : 'kept';
            });
            expect(words).toEqual(fits);
            kept.push(...texts.filter((_, index) => words[index] === 'kept'));
          }
          expect((await contentsOf(folder)).toSorted()).toEqual(kept.toSorted());
          expect(journal.size()).toBe(room - left);
          await journal.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});

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

describe('the journal, whatever happens to its processes', () => {
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
        /** The database goes away after so many records. */
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
            // In the middle of a record that nobody was told of.
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

/** Files with three records each, of processes that are gone. */
async function leftByTheDead(folder: string, files: number): Promise<readonly string[]> {
  const all: string[] = [];
  for (let index = 0; index < files; index += 1) {
    const records = names(3, `${index}-`);
    await writeFile(path.join(folder, `dead${index}-x.000001.journal`), bytesOf(records));
    all.push(...records);
  }
  return all.sort();
}

describe('the files of a process that is gone', () => {
  it('are taken over by one of two that come at once, and each record is settled once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const folder = await makeTestFolder('journal');
      const records = await leftByTheDead(folder, 20);
      const living = new Set(['a', 'b', 'c']);
      const database = taking();
      await Promise.all(
        ['a', 'b', 'c'].map((name) => bench(folder, name, { living }).recover(database.replay, always)),
      );
      expect(database.settled.sort()).toEqual(records);
      expect(await readdir(folder)).toEqual([]);
    }
  });

  it('are taken over again and again when each that takes them over dies, however often', async () => {
    const folder = await makeTestFolder('journal');
    const records = await leftByTheDead(folder, 3);
    for (let round = 0; round < 40; round += 1)
      await bench(folder, `process-number-${round}`).recover(taking(() => 'later').replay, always);
    const database = taking();
    await bench(folder, 'last').recover(database.replay, always);
    expect(database.settled.sort()).toEqual(records);
  });

  it('are left alone while it lives, and are taken over when nobody has touched them for a long time', async () => {
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
    // It is the taker's now, and not abandoned because it is old.
    await bench(folder, 'c', { living }).recover(database.replay, always);
    expect(database.settled).toEqual([]);
    await taker.recover(database.replay, always);
    expect(database.settled).toEqual(records);
  });

  it('count in what the journal may hold, and are lost to it when another has taken them', async () => {
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

  it('are those of a process whose number nobody has, or only we ourselves', () => {
    expect(isAlive(`${process.ppid}-x`)).toBe(true);
    expect(isAlive(`${process.pid}-x`)).toBe(false);
    expect(isAlive('999999999-x')).toBe(false);
    expect(isAlive('something')).toBe(false);
  });
});

describe('a file that was taken from a living process', () => {
  it('costs that process nothing: what it writes next is in another one', async () => {
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

describe('recovery beside records that arrive', () => {
  it('settles each of them once, and refuses none', async () => {
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

  it('leaves few files behind, however long the database is away', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, recover } = bench(folder, 'a');
    for (let round = 0; round < 50; round += 1) {
      await journal.append(`"${round}"`);
      await recover(taking(() => 'later').replay, always);
    }
    expect((await readdir(folder)).length).toBeLessThanOrEqual(2);
    await journal.close();
  });

  it('stops where it is told to, and goes on from there', async () => {
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

describe('what cannot be settled', () => {
  it('is kept in a .refused file, does not stop the others, and is settled when it is given back', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, recover, recovered } = bench(folder, 'a');
    for (const record of names(5)) await journal.append(record);
    const database = taking((record) => (record === '"r2"' ? 'refused' : 'settled'));
    await recover(database.replay, always);
    expect(database.settled).toEqual(['"r0"', '"r1"', '"r3"', '"r4"']);
    const kept = path.join(folder, 'a.000001.refused');
    expect(recovered).toEqual([{ settled: 4, refused: 1, damaged: 0, kept }]);
    expect(await readdir(folder)).toEqual(['a.000001.refused']);
    expect(journal.size()).toBe(0);
    await recover(database.replay, always);
    expect(database.settled).toHaveLength(4);
    await rename(kept, path.join(folder, 'a.000001.journal'));
    const mended = taking();
    await recover(mended.replay, always);
    expect(mended.settled).toEqual(names(5));
    expect(await readdir(folder)).toEqual([]);
  });

  it('because it is damaged, is counted and kept too; what a crash cut short is not', async () => {
    const folder = await makeTestFolder('journal');
    const [one = '', two = '', three = ''] = names(3).map(journalLine);
    await writeFile(path.join(folder, 'x.000001.journal'), one + two.replace('r1', 'rX') + three);
    await writeFile(path.join(folder, 'y.000001.journal'), one + two.slice(0, 7));
    const { recover, recovered } = bench(folder, 'a');
    const database = taking();
    await recover(database.replay, always);
    expect(database.settled).toEqual(['"r0"', '"r2"', '"r0"']);
    const kept = path.join(folder, 'a.000001.refused');
    expect(recovered).toEqual([
      { settled: 2, refused: 0, damaged: 1, kept },
      { settled: 1, refused: 0, damaged: 0, kept: undefined },
    ]);
    expect(await readdir(folder)).toEqual(['a.000001.refused']);
  });
});

describe('the folder', () => {
  it('is made with the first record, and nobody else may read what is in it', async () => {
    const folder = path.join(await makeTestFolder('journal'), 'not', 'there');
    const { journal, recover } = bench(folder, 'a');
    await recover(taking().replay, always);
    expect(await wordsOf([journal.append('"r"')])).toEqual(['kept']);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const [file = ''] = await readdir(folder);
    expect((await stat(path.join(folder, file))).mode & 0o777).toBe(0o600);
    await journal.close();
  });
});

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url, 2);
const clock = withClock(query);
const at = new Date('2028-05-10T12:00:00.123Z');
const yesterday = new Date('2028-05-09T23:59:59.999Z');

/** A ledger that has lost its database, and a journal beside it. */
async function cutOff(
  folder: string,
): Promise<{ ledger: OpenLedger; proxy: TcpProxy; close: () => Promise<void> }> {
  const proxy = await tcpProxy();
  const journal = localJournal({
    directory: folder,
    onFault: (error) => {
      throw error;
    },
    onRecovered: () => undefined,
  });
  const ledger = await openLedger(proxy.to(database.url()), { journal: journal.keep, connections: 2 });
  await proxy.refuse();
  const close = async (): Promise<void> => {
    await journal.close();
    await ledger.pool.end();
    await proxy.close();
  };
  return { ledger, proxy, close };
}

const deferrable = <R extends SettlementRecord>(record: R, to = at): R => ({ ...record, deferrableTo: to });

const replayOf = ({ pool }: OpenLedger) =>
  replayJournaled(pool, { closeOnBlock: () => false, mailReady: () => false, onFault: () => undefined });

/** Another process comes up and settles what is in the folder. */
async function settleFolder(folder: string, ledger = ledgers[0]!): Promise<readonly RecoveredFile[]> {
  const recovered: RecoveredFile[] = [];
  const journal = localJournal({
    directory: folder,
    onFault: (error) => {
      throw error;
    },
    onRecovered: (file) => void recovered.push(file),
  });
  await journal.recover(replayOf(ledger), always);
  return recovered;
}

/** Everything that settlements write, but for the session that counts it. */
const written = [
  'select * from usage_cost_events order by request_log_id',
  'select * from request_logs order by request_log_id',
  'select * from request_log_attempts order by request_log_id, attempt_number',
  'select * from request_log_tags order by request_log_id, tag_key',
  'select * from usage_daily_totals order by 1, 2',
  'select * from usage_rollups order by 1, 2, 3, 4',
  'select bucket_start, agent_harness_key, sum(request_count) from harness_rollups group by 1, 2 order by 1, 2',
  `select user_id, bucket_start, sum(exposed_tool_sum), sum(exposed_tool_rows), sum(invoked_tool_rows)
   from tool_cardinality_rollups group by 1, 2 order by 1, 2`,
  'select budget_id, window_start, spend_before_picousd, spend_after_picousd from budget_alerts order by 1, 2',
];
async function tables(): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (const text of written) all.push(await query(text));
  return all;
}

/** What differs between rollups and day totals, and the rows that they are the sums of. */
const differences = async (): Promise<readonly unknown[]> => [
  ...(await query(`select coalesce(s.scope, d.ownership_scope_key), coalesce(s.day, d.day), s.amount, d.counted_picousd
    from (select ownership_scope_key as scope, (occurred_at at time zone 'UTC')::date as day, sum(cost_picousd) as amount
          from usage_cost_events where pricing_status = 'priced' group by 1, 2) s
    full join usage_daily_totals d on d.ownership_scope_key = s.scope and d.day = s.day
    where s.amount is distinct from d.counted_picousd`)),
  ...(await query(`select * from (
      select rollup_bucket(occurred_at) as b, ownership_scope_key as s, model_key as m, pricing_status as p, count(*) as c,
             coalesce(sum(cost_picousd) filter (where pricing_status = 'priced'), 0) as a
      from usage_cost_events group by 1, 2, 3, 4) r
    full join usage_rollups u on u.bucket_start = b and u.ownership_scope_key = s and u.model_key = m
      and u.pricing_status = p
    where (c, a) is distinct from (u.request_count, u.counted_picousd)`)),
];

describe('a settlement that the database could not take', () => {
  beforeAll(async () => {
    await clock.standAt(at);
  });
  afterEach(async () => {
    expect(await differences()).toEqual([]);
  });

  it('is settled once from the journal, with exact money, and a second replay changes nothing', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query, { amount: 10n, hard: false });
    const [team, account] = await aTeam(query);
    const records = [
      aRecord(user, 7n * unit + 3n),
      aRecord(user, unpriced),
      aRecord(user, { pricingStatus: 'usage_missing' }),
      aRecord(team, 5n),
      aRecord(account, 6n),
    ].map((record) => deferrable(record));
    const tagged = {
      ...records[0]!,
      logged: {
        ...records[0]!.logged,
        log: {
          ...records[0]!.logged.log,
          tags: {
            service: 's',
            component: undefined,
            env: 'e',
            bespoke: [{ key: 'k', value: 'vü' }],
          },
          attempts: [
            {
              attemptNumber: 1,
              providerKey: 'up',
              upstreamModel: 'simulated-fast',
              status: 'success' as const,
              statusCode: 200,
              errorCode: undefined,
              errorDetail: undefined,
              stream: false,
              startedAt: at.getTime() - 20,
              completedAt: at.getTime(),
            },
          ],
        },
      },
    };
    const all: readonly SettlementRecord[] = [tagged, ...records.slice(1)];
    expect(new Set(await settleTogether(ledger, all))).toEqual(new Set(['journaled']));
    await close();
    const [file = ''] = await readdir(folder);
    const copy = await readFile(path.join(folder, file));
    expect(await settleFolder(folder)).toEqual([{ settled: 5, refused: 0, damaged: 0, kept: undefined }]);
    for (const record of all) expect(await rowsOf(query, record)).toEqual([1, 1]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 7n * unit + 3n, days: 7n * unit + 3n });
    expect(await spendOf(query, scopeOf(team))).toEqual({ rows: 11n, days: 11n });
    expect(
      await query('select occurred_at from request_logs where request_log_id = $1', [
        tagged.charge.requestLogId,
      ]),
    ).toEqual([{ occurred_at: at }]);
    const before = await tables();
    await writeFile(path.join(folder, file), copy);
    expect(await settleFolder(folder)).toEqual([{ settled: 5, refused: 0, damaged: 0, kept: undefined }]);
    expect(await tables()).toEqual(before);
  });

  it('whose commit was done and whose answer was lost has one row all the same', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const record = deferrable(aRecord(user, unit));
    expect(wordOf(await ledgers[0]!.settle(record))).toBe('recorded');
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    const before = await tables();
    await settleFolder(folder);
    expect(await tables()).toEqual(before);
  });

  it('is a duplicate when its request id was settled meanwhile', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const record = deferrable(aRecord(user, unit, { requestId: 'chosen' }));
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    expect(wordOf(await ledgers[1]!.settle(aRecord(user, 2n * unit, { requestId: 'chosen' })))).toBe(
      'recorded',
    );
    await settleFolder(folder);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 2n * unit, days: 2n * unit });
    expect(
      await query('select metadata_json -> $2 as accounting from request_logs where request_log_id = $1', [
        record.charge.requestLogId,
        'accounting',
      ]),
    ).toEqual([{ accounting: { duplicate: true } }]);
  });

  it('counts in the window of the database time that it carries', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query, { amount: 1n, hard: false, cadence: 'daily' });
    const record = deferrable(aRecord(user, 3n), yesterday);
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    await settleFolder(folder);
    expect(
      await query(
        `select day::text, counted_picousd from usage_daily_totals where ownership_scope_key = $1`,
        [scopeOf(user)],
      ),
    ).toEqual([{ day: '2028-05-09', counted_picousd: '3' }]);
    expect(
      await query('select occurred_at from usage_cost_events where request_log_id = $1', [
        record.charge.requestLogId,
      ]),
    ).toEqual([{ occurred_at: yesterday }]);
  });

  it('is judged by the budget in force when it is settled: blocked, the row says so, and others are not', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const [user, soft] = [await aUser(query, { amount: 1n, hard: false }), await aUser(query)];
    const records = [
      deferrable(aRecord(user, 4n * unit)),
      deferrable(aRecord(user, 7n * unit)),
      deferrable(aRecord(user, 6n * unit)),
      deferrable(aRecord(soft, 100n * unit)),
    ];
    for (const record of records) expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    await setUserBudget(query, userIdOf(user), { amount: 10n });
    await settleFolder(folder);
    expect(await Promise.all(records.map((record) => rowsOf(query, record)))).toEqual([
      [1, 1],
      [0, 1],
      [1, 1],
      [1, 1],
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 10n * unit, days: 10n * unit });
    expect(
      await query(
        'select status_code, error_code, metadata_json from request_logs where request_log_id = $1',
        [records[1]!.charge.requestLogId],
      ),
    ).toMatchObject([
      {
        status_code: 429,
        error_code: 'budget_exceeded',
        metadata_json: { accounting: { blocked_cost_usd: '0.5' } },
      },
    ]);
  });

  it('and was blocked by a try that is made again is judged again, and its log row says what came of it', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const [kept, twin] = ['a', 'b'].map((requestId) => deferrable(aRecord(user, 4n * unit, { requestId })));
    expect(await settleTogether(ledger, [kept!, twin!])).toEqual(['journaled', 'journaled']);
    await close();
    const [file = ''] = await readdir(folder);
    const copy = await readFile(path.join(folder, file));
    await setUserBudget(query, userIdOf(user), { amount: 1n });
    await settleFolder(folder);
    expect(await Promise.all([kept!, twin!].map((record) => rowsOf(query, record)))).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await setUserBudget(query, userIdOf(user), { amount: 10n });
    expect(wordOf(await ledgers[1]!.settle(aRecord(user, 5n * unit, { requestId: 'b' })))).toBe('recorded');
    await writeFile(path.join(folder, file), copy);
    await settleFolder(folder);
    expect(await Promise.all([kept!, twin!].map((record) => rowsOf(query, record)))).toEqual([
      [1, 1],
      [0, 1],
    ]);
    expect(
      await query(
        `select status_code, error_code, metadata_json -> 'accounting' as accounting from request_logs
         where request_log_id = any ($1) order by request_id`,
        [[kept!, twin!].map(({ charge }) => charge.requestLogId)],
      ),
    ).toEqual([
      { status_code: 200, error_code: null, accounting: null },
      { status_code: 200, error_code: null, accounting: { duplicate: true } },
    ]);
  });

  it('and is refused by the database, is kept, and does not stop the others', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const bad = deferrable(
      aRecord(user, {
        ...pricedAt(1n),
        usage: { promptTokens: -1, completionTokens: 0, totalTokens: 0 },
      } as never),
    );
    const records = [aRecord(user, 1n), aRecord(user, 2n)].map((record) => deferrable(record));
    for (const record of [records[0]!, bad, records[1]!])
      expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    await writeFile(
      path.join(folder, 'zzz.000001.journal'),
      bytesOf(['no JSON', '{}', '{"at": "x", "record": {}}']),
    );
    const recovered = await settleFolder(folder);
    expect(recovered).toMatchObject([
      { settled: 2, refused: 1, damaged: 0 },
      { settled: 0, refused: 3, damaged: 0 },
    ]);
    for (const record of records) expect(await rowsOf(query, record)).toEqual([1, 1]);
    expect(await rowsOf(query, bad)).toEqual([0, 0]);
    expect((await readdir(folder)).every((name) => name.endsWith('.refused'))).toBe(true);
    expect(await readFile(recovered[0]?.kept ?? '', 'utf8')).toContain(bad.charge.requestLogId);
  });

  it('of a dead process is settled once when two processes come for it', async () => {
    const folder = await makeTestFolder('journal');
    const records: SettlementRecord[] = [];
    const users: Caller[] = [];
    for (let index = 0; index < 6; index += 1) {
      const { ledger, close } = await cutOff(folder);
      const user = await aUser(query);
      users.push(user);
      const own = Array.from({ length: 10 }, () => deferrable(aRecord(user, unit)));
      expect(new Set(await settleTogether(ledger, own))).toEqual(new Set(['journaled']));
      records.push(...own);
      await close();
    }
    const counts = await Promise.all([settleFolder(folder, ledgers[0]), settleFolder(folder, ledgers[1])]);
    expect(counts.flat().reduce((sum, { settled }) => sum + settled, 0)).toBe(60);
    for (const record of records) expect(await rowsOf(query, record)).toEqual([1, 1]);
    for (const user of users)
      expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 10n * unit, days: 10n * unit });
  });

  it('and must not be deferred, or that the journal refuses, is store_unavailable', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query, { amount: 10n });
    expect(wordOf(await ledger.settle(aRecord(user, unit)))).toBe('store_unavailable');
    expect(await readdir(folder)).toEqual([]);
    await close();
    const proxy = await tcpProxy();
    const refusing = await openLedger(proxy.to(database.url()), { journal: async () => false });
    await proxy.refuse();
    expect(wordOf(await refusing.settle(deferrable(aRecord(user, unit))))).toBe('store_unavailable');
    await refusing.pool.end();
  });

  it('waits while the database is away, and is settled when it is back', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, proxy, close } = await cutOff(folder);
    const user = await aUser(query);
    const record = deferrable(aRecord(user, unit));
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    expect(await settleFolder(folder, ledger)).toEqual([]);
    expect(await rowsOf(query, record)).toEqual([0, 0]);
    await proxy.open();
    expect(await settleFolder(folder, ledger)).toMatchObject([{ settled: 1 }]);
    expect(await rowsOf(query, record)).toEqual([1, 1]);
    await close();
  });
});
