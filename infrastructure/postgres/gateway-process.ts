import { randomUUID } from 'node:crypto';
import { type DatabasePool, sql } from 'slonik';
import type { RequestLogId } from '../../domain/request-log/request-ids.ts';
import { sqlState } from './database-fault.ts';
import { withinTime } from './within-time.ts';

/** Why the database takes no rows. */
export type WriteTrouble = 'read_only' | 'disk_full';

/** This process as the database knows it, and whether the database takes rows, which its answers alone do not show. */
export interface GatewayProcess {
  /** Its claims carry it. */
  readonly id: string;
  /** Undefined: rows can be written, as far as anybody knows. */
  readonly unwritable: () => WriteTrouble | undefined;
  /** A statement failed: rows that cannot be written now cannot be until a probe succeeds. */
  readonly failed: (error: unknown) => void;
  /** This request is over, and its claim could not end with it: it ends with the next beat. */
  readonly release: (requestLogId: RequestLogId) => void;
  /** Says that the process is there, and probes whether rows can be written. Rejects where the database is away. */
  readonly beat: () => Promise<void>;
  /** The present state. A beat of a moment ago is as good as a new one, if the database still answers. */
  readonly check: () => Promise<WriteTrouble | undefined>;
}

/** How often a process says that it is there; after five that were missed it is taken for gone (`process_is_gone`). */
export const beatSecs = 1;

/** However often it is asked for, rows are not probed more often than this. */
const probedLatelyMs = 250;

/** Pages of 8 KB that a probe needs: one, or room for a batch once rows could not be written. */
const probePages = 1;
const doubtfulPages = 128;

/** Claims that wait to be released. Those beyond this many are not released but expire. */
const maxReleases = 10_000;

export interface GatewayProcessOptions {
  /** Called when rows can no longer be written, and when they can be again. */
  readonly onWriting: (trouble: WriteTrouble | undefined) => void;
  /** The id under which other servers know this process already. */
  readonly id?: string | undefined;
}

export function gatewayProcess(
  pool: DatabasePool,
  { onWriting, id = randomUUID() }: GatewayProcessOptions,
): GatewayProcess {
  const releases = new Set<string>();
  let trouble: WriteTrouble | undefined;
  let failures = 0;
  let probedAt = Number.NEGATIVE_INFINITY;

  const enter = (next: WriteTrouble | undefined): void => {
    if (next === trouble) return;
    trouble = next;
    onWriting(trouble);
  };
  const failed = (error: unknown): void => {
    const kind = writeTroubleOf(error);
    if (kind === undefined) return;
    failures += 1;
    enter(kind);
  };
  /** Says that the process is there, where the database has so many pages to spare. */
  const tell = async (pages: number): Promise<void> => {
    const released = [...releases];
    await withinTime(pool, (connection) =>
      connection.query(sql.unsafe`select gateway_beat(${id}, ${sql.array(released, 'uuid')}, ${pages})`),
    );
    for (const each of released) releases.delete(each);
  };
  const beat = async (): Promise<void> => {
    const before = failures;
    const startedAt = performance.now();
    try {
      await tell(trouble === undefined ? probePages : doubtfulPages);
    } catch (error) {
      failed(error);
      if (writeTroubleOf(error) === undefined) throw error;
      // It is there all the same: others, who need less room, must not take what it holds for a dead process's.
      if (trouble === 'disk_full') await tell(0).catch(failed);
      return;
    }
    // A statement that failed in the meantime has newer knowledge than this probe.
    if (failures !== before) return;
    probedAt = startedAt;
    enter(undefined);
  };
  return {
    id,
    unwritable: () => trouble,
    failed,
    release: (requestLogId) => {
      if (releases.size < maxReleases) releases.add(requestLogId);
    },
    beat,
    check: async () => {
      if (trouble === undefined && performance.now() - probedAt < probedLatelyMs)
        await pool.query(sql.unsafe`select 1`);
      else await beat();
      return trouble;
    },
  };
}

const writeTroubles: Readonly<Record<string, WriteTrouble>> = { '25006': 'read_only', '53100': 'disk_full' };

const writeTroubleOf = (error: unknown): WriteTrouble | undefined => writeTroubles[sqlState(error) ?? ''];
