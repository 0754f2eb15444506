import { open, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { type Disk, localDisk } from '../../infrastructure/journal/disk.ts';
import { FileJournal } from '../../infrastructure/journal/file-journal.ts';
import { journalContent, journalLine } from '../../infrastructure/journal/journal-line.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { always, bytesOf, names, taking, withBenches, wordsOf } from './journal-bench.ts';

const bench = withBenches();
afterEach(() => void jest.restoreAllMocks());

/** JSON text: any characters except the end of a line. */
const aText = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text.toWellFormed()));
const someTexts = fc.array(aText, { minLength: 1, maxLength: 8 });
const recordsIn = (bytes: Buffer) => journalContent(bytes.toString('utf8'));

describe('a file of the journal', () => {
  it('has a line format that later releases can read: a CRC-32 in eight hex digits, a space and the record', () => {
    expect(journalLine('{"a":"ä"}')).toBe('282893f6 {"a":"ä"}\n');
    expect(journalLine('{"a":243}')).toBe('00077a11 {"a":243}\n');
  });

  it('that a crash truncated at any byte has exactly the complete records before that byte', () => {
    fc.assert(
      fc.property(someTexts, (records) => {
        const bytes = bytesOf(records);
        const ends = records.map((_, index) => bytesOf(records.slice(0, index + 1)).length);
        for (let at = 0; at <= bytes.length; at += 1) {
          const whole = ends.filter((end) => end <= at);
          expect(recordsIn(bytes.subarray(0, at))).toEqual({
            records: records.slice(0, whole.length),
            damaged: 0,
          });
        }
      }),
      { numRuns: 30 },
    );
  });

  it('with one damaged byte loses only that line, or two that became one, and reports the damage', () => {
    fc.assert(
      fc.property(someTexts, fc.nat(), fc.integer({ min: 1, max: 255 }), (records, place, change) => {
        const bytes = bytesOf(records);
        const at = place % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const { records: read, damaged } = recordsIn(bytes);
        const line = bytesOf(records).subarray(0, at).toString('latin1').split('\n').length - 1;
        const lost = (from: number, count: number) => records.filter((_, i) => i < from || i >= from + count);
        expect([lost(line, 1), lost(line, 2)]).toContainEqual(read);
        expect(damaged > 0 || at === bytes.length - 1).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

/** A disk of `room` bytes: a write that does not fit is written in part, and fails with `code`. */
function smallDisk(room: number, code: string): Disk {
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
          if (bytes.length > left) throw Object.assign(new Error('no space left'), { code });
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

  it('shares its fsync with all records that wait at the same time', async () => {
    const folder = await makeTestFolder('journal');
    const { journal, disk } = bench(folder, 'a');
    const release = disk.hold();
    const first = journal.append('"first"');
    while (!(await readdir(folder)).some(() => true)) await Promise.resolve();
    const others = names(200).map((record) => journal.append(record));
    release();
    expect(new Set(await wordsOf([first, ...others]))).toEqual(new Set(['kept']));
    expect(await contentsOf(folder)).toEqual(['"first"', ...names(200)]);
    // Closing comes after any write that is still to come.
    await journal.close();
    expect(disk.syncs()).toBe(2);
  });

  it('is refused while the journal is full, until its records are settled', async () => {
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
    'is refused if the disk fails (%s), is never settled, and does not affect other records',
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
      // A file that failed is not written to again, and an empty one is removed.
      expect(await readdir(folder)).toHaveLength(what === 'create' ? 1 : 2);
      const database = taking();
      await recover(database.replay, always);
      expect(database.settled).toEqual(what === 'create' ? ['"after"'] : ['"before"', '"after"']);
      expect(journal.size()).toBe(0);
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it('may still be settled if the disk failed to sync it and then to truncate it', async () => {
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
  it('keeps the first records of a batch as far as they fit, and nothing of the others', async () => {
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
            disk: smallDisk(room, 'ENOSPC'),
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

describe('a disk, a quota or a file that is full', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('keeps the records of a batch that fit: %s', async (code) => {
    const journal = new FileJournal({
      directory: await makeTestFolder('journal'),
      name: 'a',
      maxBytes: 1_000_000,
      disk: smallDisk(bytesOf(names(2)).length, code),
      onFault: () => undefined,
    });
    const words = await wordsOf(names(3).map((record) => journal.append(record)));
    expect(words).toEqual(['kept', 'kept', 'disk']);
    await journal.close();
  });
});

describe('a record that cannot be settled', () => {
  it('is kept in a .refused file, does not stop the others, and is settled when the file is renamed back', async () => {
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

  it('because it is damaged is counted and kept too; one that a crash truncated is not', async () => {
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

  it('is reported if nothing else is in its file; a file without a whole line is removed in silence', async () => {
    const folder = await makeTestFolder('journal');
    const [one = ''] = names(1).map(journalLine);
    await writeFile(path.join(folder, 'x.000001.journal'), one.replace('r0', 'rX'));
    await writeFile(path.join(folder, 'y.000001.journal'), one.slice(0, 7));
    const { recover, recovered } = bench(folder, 'a');
    await recover(taking().replay, always);
    const kept = path.join(folder, 'a.000001.refused');
    expect(recovered).toEqual([{ settled: 0, refused: 0, damaged: 1, kept }]);
    expect(await readdir(folder)).toEqual(['a.000001.refused']);
  });
});

describe('a file of the journal that cannot be read', () => {
  it('does not stop the others from being settled, and is reported', async () => {
    const folder = await makeTestFolder('journal');
    // As unreadable as the file of another user, also to a test that runs as root.
    const unreadable = path.join(folder, '0.000001.journal');
    await symlink(unreadable, unreadable);
    await writeFile(path.join(folder, 'x.000001.journal'), bytesOf(names(2, 'x')));
    const { journal, recover } = bench(folder, 'a');
    await journal.append('"mine"');
    const database = taking();
    await expect(recover(database.replay, always)).rejects.toThrow('could not be settled');
    expect(database.settled).toEqual(['"mine"', ...names(2, 'x')]);
    expect(await readdir(folder)).toEqual(['0.000001.journal']);
  });
});

describe('a recovery for which the database is away', () => {
  it('asks it for no further record of any file', async () => {
    const folder = await makeTestFolder('journal');
    for (const name of ['x', 'y'])
      await writeFile(path.join(folder, `${name}.000001.journal`), bytesOf(names(2, name)));
    const { recover } = bench(folder, 'a');
    const asked: string[] = [];
    const { replay } = taking((record) => (asked.push(record) === 2 ? 'later' : 'settled'));
    await recover(replay, always);
    expect(asked).toEqual(names(2, 'x'));
    expect(await readdir(folder)).toEqual(['a.000001.journal', 'y.000001.journal']);
  });
});

describe('a recovery that is to stop', () => {
  it('settles nothing and takes over no file', async () => {
    const folder = await makeTestFolder('journal');
    await writeFile(path.join(folder, 'x.000001.journal'), bytesOf(names(2, 'x')));
    const { recover } = bench(folder, 'a');
    const database = taking();
    await recover(database.replay, () => false);
    expect(database.settled).toEqual([]);
    expect(await readdir(folder)).toEqual(['x.000001.journal']);
  });
});

describe('the journal folder', () => {
  it('is created with the first record, and only its owner may read it and its files', async () => {
    const folder = path.join(await makeTestFolder('journal'), 'not', 'there');
    const { journal, recover } = bench(folder, 'a');
    await recover(taking().replay, always);
    expect(await wordsOf([journal.append('"r"')])).toEqual(['kept']);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const [file = ''] = await readdir(folder);
    expect((await stat(path.join(folder, file))).mode & 0o777).toBe(0o600);
    await journal.close();
  });

  it('is synced to disk: each directory entry when it is created, records when the file is synced', async () => {
    const folder = await makeTestFolder('journal');
    const opened = await open(folder);
    const files = Object.getPrototypeOf(opened) as typeof opened;
    await opened.close();
    const entries = jest.spyOn(files, 'sync');
    const records = jest.spyOn(files, 'datasync');
    const file = await localDisk.create(path.join(folder, 'data', 'journal', 'a.journal'));
    expect([entries, records].map(({ mock }) => mock.calls.length)).toEqual([3, 0]);
    await file.append('a');
    await file.sync();
    expect([entries, records].map(({ mock }) => mock.calls.length)).toEqual([3, 1]);
    await file.close();
  });
});
