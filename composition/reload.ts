import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { KeptByAdmins, Seed, SeedStore } from '../application/ports/seed.ts';
import { shrinkage } from '../application/shrinking.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { LoadedConfig } from '../infrastructure/config/load.ts';
import { type ConfigProblem, placeless } from '../infrastructure/config/problem.ts';
import { awaitingRestart } from '../infrastructure/config/restart-keys.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import type { Log } from '../infrastructure/logging.ts';
import { unfitProblems } from './unfit.ts';

/** A second SIGHUP that comes later is a first one: it may be sent for another reason. */
const confirmWithinMs = 600_000;

export interface ReloadParts {
  readonly config: LiveConfig;
  readonly seed: SeedStore;
  readonly log: Log;
  /** This process reconciles the file into the database. */
  readonly seeds: boolean;
  /** `--allow-shrink`: a file that ends most of what is there is meant. */
  readonly allowShrink: boolean;
  /** The file is in force: everything is read off it anew. */
  readonly takenUp: () => Promise<void>;
}

/**
 * Validates the file again, reconciles it and swaps. A bad one is refused, and so is one that would revoke or disable
 * more than half of what is there, until it is asked for once more unchanged; then the old state stays.
 */
export function reloading(parts: ReloadParts): () => Promise<readonly ConfigProblem[]> {
  const { config, seed, log, seeds, takenUp } = parts;
  const shrinks = shrinkJudge(parts);
  const started = config.loaded().config;
  const judge = async (next: LoadedConfig): Promise<readonly ConfigProblem[]> => {
    const unfit = await unfitProblems(next);
    return unfit.length > 0 ? unfit : shrinks(next);
  };
  const reconcile = async (next: LoadedConfig): Promise<void> => {
    if (seeds) await reportSeed(log, await seed.reconcile(seedOf(next)));
  };
  const reload = async (): Promise<readonly ConfigProblem[]> => {
    const read = await config.reload(judge, reconcile);
    if (E.isLeft(read)) return read.left;
    await takenUp();
    const keys = awaitingRestart(started, read.right.config);
    if (keys.length > 0) log.warn({ keys }, 'keys of the configuration that have changed want a restart');
    return [];
  };
  // One after the other: the second must know what became of the first.
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const next = last.then(reload);
    last = next.catch(() => undefined);
    return next;
  };
}

function shrinkJudge({ seed, seeds, allowShrink }: ReloadParts) {
  let refused: { readonly seed: Seed; readonly at: number } | undefined;
  return async (next: LoadedConfig): Promise<readonly ConfigProblem[]> => {
    if (!seeds || allowShrink) return [];
    const wanted = seedOf(next);
    const shrunk = shrinkage(await seed.losses(wanted));
    const confirmed =
      refused !== undefined &&
      performance.now() - refused.at < confirmWithinMs &&
      isDeepStrictEqual(refused.seed, wanted);
    refused = shrunk === undefined || confirmed ? undefined : { seed: wanted, at: performance.now() };
    return refused === undefined
      ? []
      : [placeless('', `would end ${shrunk}: if that is meant, send SIGHUP once more within 10 minutes`)];
  };
}

/** Throws where a start must not take the file up. */
export type StartJudge = (loaded: LoadedConfig, seed: SeedStore) => Promise<void>;

/**
 * A start takes a smaller file up, since somebody has just decided on it; but a file that says nothing at all ends
 * everything, and is refused where there is something to end.
 */
export const refuseEmpty: StartJudge = async (loaded, seed) => {
  const shrunk = loaded.saysNothing ? shrinkage(await seed.losses(seedOf(loaded))) : undefined;
  if (shrunk !== undefined)
    throw new Error(
      `The configuration is empty, and would end ${shrunk}: --allow-shrink says that it is meant.`,
    );
};

export async function reportSeed(log: Log, { keptRevoked, keptInactive }: KeptByAdmins) {
  for (const name of keptRevoked)
    log.warn({ key: name }, 'a key of the file stays revoked, because an admin revoked it');
  for (const owner of keptInactive)
    log.warn({ owner }, 'an owner of the file stays inactive, because an admin has ended its activity');
}
