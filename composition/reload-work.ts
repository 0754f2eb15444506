import { createHash } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import type { KeptByAdmins, Seed } from '../application/ports/seed.ts';
import { shrinkage } from '../application/shrinking.ts';
import type { Variables } from '../infrastructure/config/interpolation.ts';
import { loadLastingConfig } from '../infrastructure/config/load.ts';
import { type ConfigProblem, withoutPosition } from '../infrastructure/config/problem.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import { type ServedConfig, servedOf } from '../infrastructure/config/served-config.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { seedStore } from '../infrastructure/postgres/seed-store.ts';
import { fitConfig } from './fit-config.ts';

/** Input of a reload. Plain data, because it is sent to a thread. */
export interface ReloadRequest {
  /** Path of the file. */
  readonly file: string;
  /** The values of its placeholders. */
  readonly variables: Variables;
  /** The database that the file is reconciled into; `undefined` when other processes do that. */
  readonly reconcileInto: string | undefined;
  /** The file may end most of what is there. */
  readonly allowShrink: boolean;
  /** The digest (`shrinks`) of a file that was confirmed, and so may end most of what is there. */
  readonly confirmed: string | undefined;
}

/** The outcome of a reload. */
export type Reload =
  | {
      readonly kind: 'refused';
      readonly problems: readonly ConfigProblem[];
      /** Present when the file would end most of what is there: a digest of what it says. */
      readonly shrinks?: string;
    }
  | {
      readonly kind: 'ready';
      readonly served: ServedConfig;
      /** `undefined` where it was not reconciled. */
      readonly kept: KeptByAdmins | undefined;
    };

/** An empty file is still being written, or was lost: applying it would revoke every key. */
const empty = withoutPosition('', 'is empty: a reload never applies an empty file');

/** Reads and judges the file, and reconciles it into the database, so that its caller only has to swap. */
export async function reloadWork(request: ReloadRequest): Promise<Reload> {
  const read = await fitConfig(await loadLastingConfig(request.file, request.variables));
  if (E.isLeft(read)) return { kind: 'refused', problems: read.left };
  const loaded = read.right;
  if (loaded.saysNothing) return { kind: 'refused', problems: [empty] };
  const served = servedOf(loaded);
  if (request.reconcileInto === undefined) return { kind: 'ready', served, kept: undefined };
  const seed = seedOf(loaded);
  const pool = await openPool(request.reconcileInto, 1);
  try {
    const store = seedStore(pool);
    const shrunk = request.allowShrink ? undefined : shrinkage(await store.losses(seed));
    const shrinks = shrunk === undefined ? undefined : digestOf(seed);
    return shrinks === undefined || shrinks === request.confirmed
      ? { kind: 'ready', served, kept: await store.reconcile(seed) }
      : { kind: 'refused', problems: [wouldEnd(shrunk)], shrinks };
  } finally {
    await pool.end();
  }
}

const wouldEnd = (shrunk: string | undefined): ConfigProblem =>
  withoutPosition('', `would remove ${shrunk}: if that is intended, send SIGHUP again within 10 minutes`);

/** The same for two files that say the same, in whatever order their objects have their keys. */
const digestOf = (seed: Seed): string =>
  createHash('sha256')
    .update(JSON.stringify(seed, (_, value: unknown) => plain(value)))
    .digest('hex');

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}
