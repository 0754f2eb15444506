/**
 * `npm run torture:upgrade [-- --ref REF]`: two gateways of an earlier commit (by default the newest tag
 * `v*`) and two of this one run on one database, whose schema the new ones migrate while the old ones serve.
 * Load of all families, then the same while gateways of both are killed and stopped; the ledger is audited
 * after each.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readFile, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { pendingMigrations } from '../../infrastructure/postgres/migrate.ts';
import { tortureSeed } from '../support/seeded.ts';
import type { FaultName } from './faults/faults.ts';
import { audited, closed, lineOf } from './faults/torture.ts';
import { openWorld } from './faults/world.ts';
import { sweptFolder } from '../support/swept-folder.ts';

const root = path.join(import.meta.dirname, '..', '..');
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const { values } = parseArgs({ options: { ref: { type: 'string' } } });

const git = (...args: readonly string[]): string => {
  const { status, stdout } = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
};

/** Copies the files of a commit, with the packages that are installed here. */
async function copyOf(commit: string, at: string): Promise<void> {
  await mkdir(at, { recursive: true });
  const archive = execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', at], { input: archive });
  await symlink(path.join(root, 'node_modules'), path.join(at, 'node_modules'));
  const lock = (where: string): Promise<string> => readFile(path.join(where, 'package-lock.json'), 'utf8');
  if ((await lock(at)) !== (await lock(root))) say('its packages were others: it runs with those of today');
}

/** At first only load; then processes of both copies end, and restart on the newer schema. */
const rounds: readonly (readonly FaultName[])[] = [
  [],
  ['all gateways are killed'],
  ['a gateway is told to stop', 'PostgreSQL is killed'],
];

async function upgrade(ref: string): Promise<boolean> {
  const commit = git('rev-parse', '--verify', `${ref}^{commit}`);
  if (commit === '') throw new Error(`there is no commit ${ref}`);
  const folder = await sweptFolder('upgrade');
  const seed = tortureSeed();
  try {
    const earlier = path.join(folder, 'earlier');
    await copyOf(commit, earlier);
    const world = await openWorld({
      folder: path.join(folder, 'world'),
      duplicates: seed % 2 === 0 ? 'allow' : 'reject',
      disks: false,
      earlier,
    });
    let problems = 0;
    try {
      const pending = await pendingMigrations(world.database.url(), path.join(root, 'migrations'), 'none');
      if (pending.length > 0) throw new Error(`the schema was not brought up to date: ${pending.join(', ')}`);
      say(`${ref} (${commit.slice(0, 12)}) beside this copy, seed ${seed}`);
      for (const [index, faults] of rounds.entries()) {
        const plan = { faults, warmUp: 150, seed: seed + index, longestMs: 2000 };
        const figures = await audited(world, plan);
        say(lineOf(index + 1, figures, `TORTURE_SEED=${seed} npm run torture:upgrade -- --ref ${ref}`));
        problems += figures.problems.length;
      }
    } finally {
      problems += (await closed(world, say)).length;
    }
    say(
      problems === 0 ? 'nothing is wrong: both served on one schema, and ended well' : `${problems} problems`,
    );
    return problems === 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ref = values.ref ?? git('tag', '--list', 'v*', '--sort=-v:refname').split('\n')[0] ?? '';
if (ref === '') say('left out: there is no tag v*, or no history; name a commit with --ref');
else process.exitCode = (await upgrade(ref)) ? 0 : 1;
