import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from '@jest/globals';

it('npm run fuzz -- --input @FILE repeats an input that is too large for a command argument', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-fuzz-'));
  try {
    const file = path.join(folder, 'input.base64');
    await writeFile(file, Buffer.from(`9 page=1${'&1'.repeat(100_000)}`).toString('base64'));
    const args = ['test/fuzz/run.ts', '--only', 'admin: queries', '--input', `@${file}`];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, expect.stringContaining('admin: queries: all laws hold')]);
    expect(stdout).toContain('There is no query parameter');
  } finally {
    await rm(folder, { recursive: true });
  }
});
