import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { endedQuietly, type Problems } from './audit.ts';
import { runCommand } from './verify.ts';
import { type FaultName, type Fault, faultNames, faults } from './faults.ts';
import { aPlan, playRound, type RoundFigures, type RoundPlan } from './round.ts';
import { openWorld, type World } from './world.ts';

/** Rounds per world; the next world has the other handling of repeated request ids. */
const roundsOfWorld = 12;

const longestMs = 16_000;

export interface TortureOptions {
  readonly folder: string;
  readonly rounds: number;
  /** The first round: earlier ones are skipped. */
  readonly from: number;
  readonly seed: number;
  /** Only faults whose names contain this are used. */
  readonly only: string;
  /** Small disks may be mounted. */
  readonly disks: boolean;
  readonly say: (line: string) => void;
  readonly shouldContinue?: () => boolean;
}

const hasPrlimit = (): boolean => spawnSync('prlimit', ['--version']).status === 0;

/** The faults that are possible here; the others are reported as left out. */
function possibleFaults(disks: boolean, only: string, say: (line: string) => void): readonly FaultName[] {
  const given: Readonly<Record<NonNullable<Fault['needs']>, boolean>> = {
    disks,
    closing: disks || process.getuid?.() !== 0,
    prlimit: hasPrlimit(),
  };
  const why = {
    disks: 'it takes root, and a mount namespace',
    closing: 'root may write everywhere, and cannot mount here',
    prlimit: 'there is no prlimit',
  };
  return faultNames.filter((name) => {
    const { needs }: Fault = faults[name];
    if (needs !== undefined && !given[needs]) say(`left out: ${name} (${why[needs]})`);
    return (needs === undefined || given[needs]) && name.includes(only);
  });
}

const seedOf = (seed: number, round: number): number => (seed + round * 7919) % 2 ** 31;

/** Runs rounds, and reports failures and a summary. Returns the number of failed rounds. */
export async function torture(options: TortureOptions): Promise<number> {
  const { folder, rounds, from, seed, disks, say, only, shouldContinue = () => true } = options;
  const possible = possibleFaults(disks, only, say);
  if (possible.length === 0) throw new Error(`No fault that can be had here has “${only}” in its name.`);
  const played: RoundFigures[] = [];
  const ends: string[] = [];
  let world: World | undefined;
  try {
    for (let round = from; round < from + rounds && shouldContinue(); round += 1) {
      const place = (round - from) % roundsOfWorld;
      if (place === 0) {
        if (world !== undefined) ends.push(...(await closed(world, say)));
        const number = Math.floor((round - 1) / roundsOfWorld);
        world = await openWorld({
          folder: path.join(folder, `world-${round}`),
          duplicates: (seed + number) % 2 === 0 ? 'allow' : 'reject',
          disks,
        });
      }
      if (world === undefined) throw new TypeError('there is no world');
      const figures = await audited(world, aPlan(seedOf(seed, round), possible, longestMs));
      played.push(figures);
      say(lineOf(round, figures, `npm run torture -- --seed ${seed} --from ${round} --rounds 1`));
    }
  } finally {
    if (world !== undefined) ends.push(...(await closed(world, say)));
  }
  say(summary(seed, played));
  return played.filter(({ problems }) => problems.length > 0).length + ends.length;
}

/** Ends idle gateways; returns the problems of their shutdown. */
export async function closed(world: World, say: (line: string) => void): Promise<Problems> {
  world.lines();
  await world.close();
  const problems = endedQuietly(world.endings(), world.lines());
  for (const problem of problems) say(`at the end of a world: ${problem}`);
  return problems;
}

/** Runs a round, and `gateway ledger verify` after it. */
export async function audited(world: World, plan: RoundPlan): Promise<RoundFigures> {
  const figures = await playRound(world, plan);
  const { code, out, err } = await runCommand(['ledger', 'verify'], world);
  return code === 0
    ? figures
    : { ...figures, problems: [...figures.problems, `ledger verify ended with ${code}: ${out}${err}`] };
}

/** The number of problems of a round that are printed: the first ones are sufficient. */
const toldProblems = 12;

export function lineOf(round: number, figures: RoundFigures, again: string): string {
  const { requests, complete, rows, recoveryMs, problems } = figures;
  const what = `round ${round}: ${figures.faults.join(' + ') || 'load alone'}; ${requests} requests, ${complete} complete, ${rows} rows, `;
  const line = `${what}served again after ${(recoveryMs / 1000).toFixed(1)} s`;
  if (problems.length === 0) return line;
  const failed = `  FAILED with ${problems.length} problems; again: ${again}`;
  return [line, failed, ...problems.slice(0, toldProblems).map((problem) => `    ${problem}`)].join('\n');
}

function summary(seed: number, played: readonly RoundFigures[]): string {
  const sum = (of: (figures: RoundFigures) => number): number =>
    played.reduce((total, figures) => total + of(figures), 0);
  const kinds = Object.entries(
    Object.groupBy(
      played.flatMap(({ faults }) => faults),
      (name) => name,
    ),
  ).map(([name, times]) => `  ${name}: ${times?.length ?? 0}`);
  const slowest = Math.max(0, ...played.map(({ recoveryMs }) => recoveryMs)) / 1000;
  return [
    `seed ${seed}: ${played.length} rounds, ${sum(({ problems }) => Math.min(1, problems.length))} failed; ` +
      `${sum(({ requests }) => requests)} requests, ${sum(({ complete }) => complete)} complete, ` +
      `${sum(({ rows }) => rows)} ledger rows; ${sum(({ kills }) => kills)} gateways killed, ` +
      `${sum(({ stops }) => stops)} told to stop; slowest recovery ${slowest.toFixed(1)} s`,
    ...kinds.sort(),
  ].join('\n');
}
