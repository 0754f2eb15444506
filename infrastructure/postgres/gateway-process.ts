import { randomUUID } from 'node:crypto';
import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { RequestLogId } from '../../domain/request-log/request-ids.ts';
import { nullable } from './codecs.ts';
import { sqlState } from './database-fault.ts';
import { row } from './pool.ts';
import { giveUpMs, withinTime } from './within-time.ts';

/** Why the database takes no rows. */
export type WriteTrouble = 'read_only' | 'disk_full';

/** This process as registered in the database, and whether the database takes rows, which its answers do not show. */
export interface GatewayProcess {
  /** Stored with the process's claims. */
  readonly id: string;
  /** `undefined` if rows can be written, as far as is known. */
  readonly unwritable: () => WriteTrouble | undefined;
  /** Reports a failed statement. If it shows that rows cannot be written, that holds until a probe succeeds. */
  readonly failed: (error: unknown) => void;
  /**
   * Releases the claim and holds of a request that has ended but could not end them. This happens with the next beat,
   * and again once no statement of the request can still be running: the server continues one after its connection is
   * lost, and may then commit what was released before.
   */
  readonly release: (requestLogId: RequestLogId) => void;
  /** Records that the process is alive and probes whether rows can be written. Rejects if the database is away. */
  readonly beat: () => Promise<void>;
  /** The current state. A very recent beat is as good as a new one, if the database still answers. */
  readonly check: () => Promise<WriteTrouble | undefined>;
}

/** How often a process beats. After five missed beats it is considered gone (`process_is_gone`). */
export const beatSecs = 1;

/** Rows are not probed more often than this, however often `check` is called. */
const probedLatelyMs = 250;

/** Pages of 8 KB that a probe needs: one, or room for a whole batch after rows could not be written. */
const probePages = 1;
const doubtfulPages = 128;

/** Limit of claims waiting to be released, and to be released again. Claims beyond it are not released but expire. */
const maxReleases = 10_000;

export interface GatewayProcessOptions {
  /** Called when rows can no longer be written, and when they can be again. */
  readonly onWriting: (trouble: WriteTrouble | undefined) => void;
  /** The id under which other servers already know this process. */
  readonly id?: string | undefined;
  /** How long a statement of a request may still be running after the request has ended. */
  readonly runningMs?: number;
}

/** The requests to release with the next beat, and again `runningMs` later. */
function releasesTwice(runningMs: number) {
  const first = new Set<string>();
  const again = new Map<string, number>();
  return {
    add: (requestLogId: string): void => {
      if (first.size < maxReleases) first.add(requestLogId);
    },
    /** Those to release now; `done` is to be called once they are released. */
    due: () => {
      const now = performance.now();
      const released = [...first];
      const repeated = [...again].filter(([, at]) => at <= now).map(([each]) => each);
      return {
        ids: [...released, ...repeated],
        done: (): void => {
          for (const each of repeated) again.delete(each);
          for (const each of released) {
            first.delete(each);
            if (again.size < maxReleases) again.set(each, now + runningMs);
          }
        },
      };
    },
  };
}

export function gatewayProcess(
  pool: DatabasePool,
  { onWriting, id = randomUUID(), runningMs = giveUpMs }: GatewayProcessOptions,
): GatewayProcess {
  const releases = releasesTwice(runningMs);
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
  /** Records that the process is alive, if the database has this many pages to spare. */
  const sendHeartbeat = async (pages: number): Promise<void> => {
    const { ids, done } = releases.due();
    await withinTime(pool, (connection) =>
      connection.query(sql.unsafe`select gateway_beat(${id}, ${sql.array(ids, 'uuid')}, ${pages})`),
    );
    done();
  };
  const beat = async (): Promise<void> => {
    const before = failures;
    const startedAt = performance.now();
    try {
      await sendHeartbeat(trouble === undefined ? probePages : doubtfulPages);
    } catch (error) {
      failed(error);
      if (writeTroubleOf(error) === undefined) throw error;
      // The process is still alive: others, which need less space, must not treat what it holds as a dead process's.
      if (trouble === 'disk_full') await sendHeartbeat(0).catch(failed);
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
    release: releases.add,
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

const roleRow = t.type({ role: t.string, may_empty: nullable(t.boolean) });

/**
 * Checks that the role may empty the table of the probes, as its owner may (rule 31.37): otherwise each heartbeat fails
 * once the table has its full size, two minutes after the start. Throws an error for operators.
 */
export async function refuseUnfitRole(pool: DatabasePool): Promise<void> {
  const { role, may_empty: mayEmpty } = await pool.one(
    sql.type(row(roleRow))`
      select quote_ident(current_user) as role,
             has_table_privilege(to_regclass('write_probes'), 'truncate') as may_empty`,
  );
  if (mayEmpty !== false) return;
  throw new Error(
    `The role ${role} does not own the tables of the gateway, and may not empty one that each heartbeat fills: let it ` +
      `own them, \`alter role ${role} set role = …\`, or \`grant truncate on write_probes to ${role}\`.`,
  );
}
