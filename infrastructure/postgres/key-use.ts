import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { Ledger, SettlementRecord } from '../../application/ports/ledger.ts';
import type { Distribution } from './distribution.ts';
import { row } from './pool.ts';

/** Limit of keys whose day waits to be written; further keys are noted when they are used again. */
const maxWaiting = 50_000;

/** Keys per statement. */
const writtenAtOnce = 1000;

/** Tracks the day on which each key was last used. A request only pays for a map lookup. */
export interface KeyUse {
  readonly note: (apiKeyId: string, at: number) => void;
  /** Writes the queued days. Keys locked by another statement are left to the next call. */
  readonly write: () => Promise<void>;
}

/** Days are UTC days of `at`. A process that dies loses at most a few seconds of them. */
export function keyUse(pool: DatabasePool, distribution: Distribution): KeyUse {
  const write = distribution === 'citus' ? writeEachDay : writeDays;
  /** The day that waits to be written, by key. */
  const waiting = new Map<string, string>();
  /** The last day known to be in the table, by key. */
  let written = new Map<string, string>();
  return {
    note: (apiKeyId, at) => {
      const day = new Date(at).toISOString().slice(0, 10);
      const known = waiting.get(apiKeyId) ?? written.get(apiKeyId) ?? '';
      if (known < day && waiting.size < maxWaiting) waiting.set(apiKeyId, day);
    },
    write: async () => {
      const all = [...waiting];
      for (let at = 0; at < all.length; at += writtenAtOnce) {
        const batch = all.slice(at, at + writtenAtOnce);
        if (written.size > maxWaiting) written = new Map();
        const days = new Map(batch);
        for (const { api_key_id: apiKeyId, day } of await write(pool, batch)) {
          written.set(apiKeyId, day);
          if (waiting.get(apiKeyId) === days.get(apiKeyId)) waiting.delete(apiKeyId);
        }
      }
    },
  };
}

const writtenDay = t.type({ api_key_id: t.string, day: t.string });

type WriteDays = (
  pool: DatabasePool,
  batch: readonly (readonly [apiKeyId: string, day: string])[],
) => Promise<readonly t.TypeOf<typeof writtenDay>[]>;

/** A day that has not begun by the database's clock was noted by a clock that is wrong: it counts as the present one. */
const today = sql.fragment`(gateway_now() at time zone 'UTC')::date`;

/** Returns the keys whose day, or a later one, is now in the table, and the keys that do not exist. */
const writeDays: WriteDays = (pool, batch) =>
  pool.any(sql.type(row(writtenDay))`
    with used as (
      select u.api_key_id, least(u.day, c.today) as day, c.today from unnest(${sql.array(
        batch.map(([id]) => id),
        'uuid',
      )}, ${sql.array(
        batch.map(([, day]) => day),
        'date',
      )}) u(api_key_id, day) cross join (select ${today} as today) c
    ), free as (
      select k.api_key_id from api_keys k join used u on u.api_key_id = k.api_key_id
      where k.last_used_on is null or k.last_used_on < u.day or k.last_used_on > u.today
      for no key update of k skip locked
    ), written as (
      update api_keys k set last_used_on = u.day from used u join free f on f.api_key_id = u.api_key_id
      where k.api_key_id = f.api_key_id
      returning k.api_key_id, u.day
    )
    select w.api_key_id, w.day::text from written w
    union all
    select u.api_key_id, u.day::text from used u left join api_keys k on k.api_key_id = u.api_key_id
    where k.api_key_id is null or k.last_used_on between u.day and u.today
  `);

/** On Citus, one statement per day, which waits for keys that are being changed. */
const writeEachDay: WriteDays = async (pool, batch) => {
  const present = await pool.oneFirst(
    sql.type(row(t.type({ today: t.string })))`select ${today}::text as today`,
  );
  const capped = batch.map(([id, day]) => ({ api_key_id: id, day: day < present ? day : present }));
  for (const [day, keys] of Map.groupBy(capped, (each) => each.day)) {
    const ids = keys.map(({ api_key_id }) => api_key_id);
    await pool.query(sql.unsafe`
      update api_keys set last_used_on = ${day}::date
      where api_key_id = any (${sql.array(ids, 'uuid')})
        and (last_used_on is null or last_used_on < ${day}::date or last_used_on > ${present}::date)
    `);
  }
  return capped;
};

/** Wraps a ledger so that it notes the key of each settlement. */
export const notingKeys = <L extends Ledger>(ledger: L, use: Pick<KeyUse, 'note'>, now: () => number): L => ({
  ...ledger,
  settle: async (record) => {
    const settled = await ledger.settle(record);
    const apiKeyId = keyOf(record);
    if (E.isRight(settled) && apiKeyId !== undefined) use.note(apiKeyId, now());
    return settled;
  },
});

const keyOf = ({ charge, logged }: SettlementRecord): string | undefined =>
  (charge ?? logged)?.caller.apiKeyId;
