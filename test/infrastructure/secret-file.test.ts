import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readOrCreate } from '../../infrastructure/embedded-postgres/secret-file.ts';
import { makeTestFolder } from '../support/test-server.ts';

const run = promisify(execFile);
const source = path.join(import.meta.dirname, '..', '..', 'infrastructure/embedded-postgres/secret-file.ts');

describe('a secret file', () => {
  it('is created once, with mode 0600, and then read', async () => {
    const file = path.join(await makeTestFolder('secret-once'), 'secret');
    expect(await readOrCreate(file, 'first')).toBe('first');
    expect(await readOrCreate(file, 'second')).toBe('first');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('has one value for all calls that create it at the same time', async () => {
    const folder = await makeTestFolder('secret-race');
    const read = await Promise.all(
      Array.from({ length: 20 }, (_, at) => readOrCreate(path.join(folder, 'secret'), `secret-${at}`)),
    );
    expect(new Set(read).size).toBe(1);
    expect(await readdir(folder)).toEqual(['secret']);
  });

  it('is not created where it cannot be written whole, so that the next start creates it', async () => {
    const folder = await makeTestFolder('secret-full');
    const file = path.join(folder, 'secret');
    const script = `import { readOrCreate } from ${JSON.stringify(source)}; await readOrCreate(${JSON.stringify(file)}, 'first');`;
    const limited = run('bash', [
      '-c',
      'trap "" XFSZ; ulimit -f 0; exec "$0" --input-type=module -e "$1"',
      process.execPath,
      script,
    ]);
    await expect(limited).rejects.toThrow('EFBIG');
    expect(await readdir(folder)).toEqual([]);
    expect(await readOrCreate(file, 'second')).toBe('second');
    expect(await readFile(file, 'utf8')).toBe('second\n');
  });
});
