import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = path.join(import.meta.dirname, '..', '..');

describe('a drill or bench with an invalid number argument', () => {
  it.each([
    [['test/torture/run.ts', '--rounds', 'ten'], '--rounds ten: a number above 0'],
    [['test/torture/run.ts', '--seed', 'x'], '--seed x: a number above 0'],
    [['test/fuzz/run.ts', '--minutes', '0'], '--minutes 0: a number above 0'],
    [['bench/telemetry.ts', '--requests', '2,500'], '--requests 2,500: a number above 0'],
    [['bench/data.ts', '1', 'many'], 'many: a number above 0, or nothing for 500000'],
  ] as const)('exits with 2 and an error message that names the argument: %j', (args, why) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([2, '', `${why}\n`]);
  });
});
