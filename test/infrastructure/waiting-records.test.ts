import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { journalLine } from '../../infrastructure/journal/journal-line.ts';
import { waitingRecords } from '../../infrastructure/journal/waiting-records.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gateway-waiting-'));
});
afterAll(() => rm(folder, { recursive: true }));

const lines = (count: number): string =>
  Array.from({ length: count }, (_, n) => journalLine(`{"n":${n}}`)).join('');

describe('the records in a journal folder', () => {
  it('are none where there is no folder', async () => {
    expect(await waitingRecords(path.join(folder, 'none'))).toEqual({ files: [], isLowerBound: false });
  });

  it('are the complete lines of all processes’ files, including lines that the database refused', async () => {
    const directory = path.join(folder, 'some');
    await mkdir(directory);
    await writeFile(path.join(directory, '1-a.000001.journal'), `${lines(3)}cut short`);
    await writeFile(path.join(directory, '1-a.000002.journal'), '');
    await writeFile(path.join(directory, '2-b.000001.refused'), lines(1));
    await writeFile(path.join(directory, 'other'), lines(9));
    // As a file that its process has removed since the folder was listed.
    await symlink(path.join(directory, 'gone'), path.join(directory, '3-c.000001.journal'));
    expect(await waitingRecords(directory)).toEqual({
      files: [
        { name: '1-a.000001.journal', refused: false, records: 3 },
        { name: '2-b.000001.refused', refused: true, records: 1 },
      ],
      isLowerBound: false,
    });
  });

  it('are those that can be read: a file or a folder that cannot makes the count a lower bound', async () => {
    const directory = path.join(folder, 'unreadable');
    await mkdir(directory);
    const unreadable = path.join(directory, '1-a.000001.journal');
    await symlink(unreadable, unreadable);
    await writeFile(path.join(directory, '2-b.000001.journal'), lines(2));
    expect(await waitingRecords(directory)).toEqual({
      files: [{ name: '2-b.000001.journal', refused: false, records: 2 }],
      isLowerBound: true,
    });
    expect(await waitingRecords(unreadable)).toEqual({ files: [], isLowerBound: true });
  });

  it('are counted up to a bound', async () => {
    const directory = path.join(folder, 'many');
    await mkdir(directory);
    await writeFile(path.join(directory, '1-a.000001.journal'), lines(9999));
    await writeFile(path.join(directory, '1-a.000002.journal'), lines(9999));
    await writeFile(path.join(directory, '1-a.000003.journal'), lines(1));
    const { files, isLowerBound } = await waitingRecords(directory);
    expect([files.map(({ records }) => records), isLowerBound]).toEqual([[9999, 1], true]);
  });

  it('are counted in at most a hundred files', async () => {
    const directory = path.join(folder, 'files');
    await mkdir(directory);
    const names = Array.from({ length: 101 }, (_, n) => `1-a.${String(n).padStart(6, '0')}.journal`);
    for (const name of names.slice(0, 100)) await writeFile(path.join(directory, name), lines(1));
    const counted = async () => {
      const { files, isLowerBound } = await waitingRecords(directory);
      return [files.map(({ name }) => name), isLowerBound];
    };
    expect(await counted()).toEqual([names.slice(0, 100), false]);
    await writeFile(path.join(directory, names[100]!), lines(1));
    expect(await counted()).toEqual([names.slice(0, 100), true]);
  });

  it('are all counted where a read of the file begins with the end of a line', async () => {
    const directory = path.join(folder, 'long');
    await mkdir(directory);
    await writeFile(path.join(directory, '1-a.000001.journal'), `${'x'.repeat(65_536)}\n${lines(2)}`);
    expect((await waitingRecords(directory)).files.map(({ records }) => records)).toEqual([3]);
  });
});
