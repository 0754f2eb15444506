import { rm } from 'node:fs/promises';

interface Drill {
  /** Its command. */
  readonly name: string;
  readonly seed: number;
  readonly rounds: number;
  /** Its logs; removed if there is no problem. */
  readonly folder: string;
}

/** Prints the result of a drill, and returns its exit code. */
export async function verdict(
  { name, seed, rounds, folder }: Drill,
  problems: readonly string[],
  out: (line: string) => void,
): Promise<number> {
  for (const problem of problems) out(`WRONG: ${problem}`);
  if (problems.length > 0) {
    out(`${name} FAILED: ${problems.length} problems (seed ${seed}); logs in ${folder}`);
    return 1;
  }
  await rm(folder, { recursive: true, force: true });
  out(`${name}: nothing lost, doubled or overshot in ${rounds} rounds (seed ${seed})`);
  return 0;
}
