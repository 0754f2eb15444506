import { stat } from 'node:fs/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { KeptByAdmins, SeedStore } from '../application/ports/seed.ts';
import { shrinkage } from '../application/shrinking.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { LoadedConfig } from '../infrastructure/config/load.ts';
import type { ConfigProblem } from '../infrastructure/config/problem.ts';
import { changedRestartKeys } from '../infrastructure/config/restart-keys.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import type { ServedConfig } from '../infrastructure/config/served-config.ts';
import type { Log } from '../infrastructure/logging.ts';
import { reloadInThread } from './reload-in-thread.ts';
import { reloadWork } from './reload-work.ts';

/** A second SIGHUP later than this counts as a first one, because it may be sent for another reason. */
const confirmWithinMs = 600_000;

/** A file of up to this many bytes is read in a twentieth of a second, while a thread takes a second to start. */
const hereBytes = 64 * 1024;

export interface ReloadParts {
  readonly config: LiveConfig;
  readonly log: Log;
  /** The database that this process reconciles the file into; `undefined` when other processes do that. */
  readonly reconcileInto: string | undefined;
  /** `--allow-shrink`: a file may end most of what is there. */
  readonly allowShrink: boolean;
  /** Called when the file is in force, so that everything that depends on it is read again. */
  readonly takenUp: () => Promise<void>;
}

/**
 * Validates the file again, reconciles it and swaps. The old state stays when a file is refused: a bad one, or one that
 * would revoke or disable more than half of what is there, unless it is asked for once more, unchanged, after that.
 */
export function reloading(parts: ReloadParts): () => Promise<readonly ConfigProblem[]> {
  const { config, log, takenUp } = parts;
  const read = reader(parts);
  const started = config.loaded().config;
  const reload = async (askedAt: number): Promise<readonly ConfigProblem[]> => {
    const taken = await config.reload(() => read(askedAt));
    if (E.isLeft(taken)) return taken.left;
    await takenUp();
    const keys = changedRestartKeys(started, taken.right.config);
    if (keys.length > 0) log.warn({ keys }, 'changed keys of the configuration need a restart');
    return [];
  };
  // One after the other, because the second must know the outcome of the first.
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const askedAt = performance.now();
    const next = last.then(() => reload(askedAt));
    last = next.catch(() => undefined);
    return next;
  };
}

/**
 * Reads and reconciles the file, a large one in a thread, and remembers a file that was refused because it ends too
 * much.
 */
function reader({ config, log, reconcileInto, allowShrink }: ReloadParts) {
  let refused: { readonly digest: string; readonly at: number } | undefined;
  return async (askedAt: number): Promise<Either<readonly ConfigProblem[], ServedConfig>> => {
    const confirmed = isConfirmation(askedAt, refused?.at) ? refused?.digest : undefined;
    const request = { ...config.source, reconcileInto, allowShrink, confirmed };
    const done = await ((await sizeOf(request.file)) > hereBytes
      ? reloadInThread(request)
      : reloadWork(request));
    if (done.kind === 'refused') {
      if (done.shrinks !== undefined) refused = { digest: done.shrinks, at: performance.now() };
      return E.left(done.problems);
    }
    refused = undefined;
    if (done.kept !== undefined) reportSeed(log, done.kept);
    return E.right(done.served);
  };
}

/**
 * A request that came before the refusal confirms nothing: nobody has seen that one, and programs that watch a file send
 * several signals for one change.
 */
const isConfirmation = (askedAt: number, refusedAt: number | undefined): boolean =>
  refusedAt !== undefined && askedAt > refusedAt && askedAt - refusedAt < confirmWithinMs;

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0, // Reading it reports why.
  );

/** Throws when startup must not apply the file. */
export type StartJudge = (loaded: LoadedConfig, seed: SeedStore) => Promise<void>;

/**
 * At startup a smaller file is applied, since somebody has just decided on it. A file that says nothing at all would
 * end everything, and is refused where there is something to end.
 */
export const refuseEmpty: StartJudge = async (loaded, seed) => {
  const shrunk = loaded.saysNothing ? shrinkage(await seed.losses(seedOf(loaded))) : undefined;
  if (shrunk !== undefined)
    throw new Error(
      `The configuration is empty, and would remove ${shrunk}: pass --allow-shrink if that is intended.`,
    );
};

export function reportSeed(log: Log, { keptRevoked, keptInactive }: KeptByAdmins) {
  for (const name of keptRevoked)
    log.warn({ key: name }, 'a key of the file stays revoked, because an admin revoked it');
  for (const owner of keptInactive)
    log.warn({ owner }, 'an owner of the file stays inactive, because an admin deactivated it');
}
