import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../e2e/traces.ts';

const root = path.join(import.meta.dirname, '..', '..');

/** The content of a file of a process in `/proc`; empty if the process has ended. */
const told = (pid: number, file: 'cmdline' | 'environ'): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
};

/** Processes with the folder in their arguments or environment, such as servers and gateways. */
const processesOf = (folder: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => told(pid, 'cmdline').includes(folder) || told(pid, 'environ').includes(folder));

(process.platform === 'linux' ? describe : describe.skip)('a bench that receives SIGTERM', () => {
  it('removes its folders and ends its PostgreSQL and gateway processes', async () => {
    const temporary = await mkdtemp(path.join(tmpdir(), 'broken-off-'));
    try {
      const bench = spawn(process.execPath, ['bench/telemetry.ts'], {
        cwd: root,
        env: { PATH: process.env['PATH'], TMPDIR: temporary },
        stdio: 'ignore',
      });
      const started = await eventually(() => {
        const found = processesOf(temporary);
        return found.some((pid) => told(pid, 'cmdline').includes('\0serve')) ? found : undefined;
      }, 60_000);
      bench.kill('SIGTERM');
      await once(bench, 'exit');
      const left = (): readonly unknown[] => [
        ...readdirSync(temporary),
        ...started.filter((pid) => existsSync(`/proc/${pid}`)),
      ];
      await eventually(() => (left().length === 0 ? true : undefined), 30_000).catch(() => undefined);
      expect(left()).toEqual([]);
    } finally {
      for (const pid of processesOf(temporary)) process.kill(pid, 'SIGKILL');
      await rm(temporary, { recursive: true, force: true });
    }
  }, 120_000);
});
