import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf } from '../infrastructure/logging.ts';
import { sharedAnswer } from '../infrastructure/shared-answer.ts';
import { UnfitDatabase } from '../infrastructure/postgres/migrate.ts';
import type { WriteTrouble } from '../infrastructure/postgres/gateway-process.ts';

/** Timeout of the database in a readiness check. */
const readyTimeoutMs = 2_000;
/** A readiness check is answered from a result of at most this age, so frequent checks add no load on the database. */
const readyMaxAgeMs = 250;

const whyUnwritable = {
  read_only: 'the database is read-only',
  disk_full: 'the disk of the database is full',
} as const satisfies Record<WriteTrouble, string>;

/**
 * Why this process must not get requests: ready means migrations applied and a database that answers and takes rows.
 */
export function readiness(
  draining: () => boolean,
  pending: () => Promise<readonly string[]>,
  writeTrouble: () => Promise<WriteTrouble | undefined>,
): () => Promise<string | undefined> {
  let migrated = false;
  const check = async (): Promise<string | undefined> => {
    try {
      migrated ||= (await pending()).length === 0;
      if (!migrated) return 'migrations are pending';
      const trouble = await writeTrouble();
      return trouble === undefined ? undefined : whyUnwritable[trouble];
    } catch (error) {
      return error instanceof UnfitDatabase
        ? error.message
        : `the database cannot be asked (${causeOf(error)})`;
    }
  };
  const checked = sharedAnswer(readyMaxAgeMs, () =>
    Promise.race([check(), sleep(readyTimeoutMs, 'the database does not answer', { ref: false })]),
  );
  return async () => (draining() ? 'draining' : checked());
}
