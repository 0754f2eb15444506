import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { Ledger, SettlementRecord } from '../../application/ports/ledger.ts';
import type { Distribution } from './distribution.ts';
import { row } from './pool.ts';

/** Keys whose day waits to be written; more than that are written when they are used again. */
const maxWaiting = 50_000;

/** Keys that a statement writes. */
const writtenAtOnce = 1000;

/** When keys were last used, to the day: a request pays nothing for it but a look into a map. */
export interface KeyUse {
  readonly note: (apiKeyId: string, at: number) => void;
  /** Writes the days that waited. What another statement holds at the moment waits for the next time. */
  readonly write: () => Promise<void>;
}

/** The days are those of `at`, in UTC. A process that dies loses a few seconds of them, and no more than that. */
export function keyUse(pool: DatabasePool, distribution: Distribution = 'none'): KeyUse {
  const write = distribution === 'citus' ? writeEachDay : writeDays;
  /** By key: the day that waits to be written. */
  const waiting = new Map<string, string>();
  /** By key: the last day that is in the table. */
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
        for (const apiKeyId of await write(pool, batch)) {
          const day = days.get(apiKeyId) ?? '';
          written.set(apiKeyId, day);
          if (waiting.get(apiKeyId) === day) waiting.delete(apiKeyId);
        }
      }
    },
  };
}

type WriteDays = (
  pool: DatabasePool,
  batch: readonly (readonly [apiKeyId: string, day: string])[],
) => Promise<readonly string[]>;

/** The keys whose day, or a later one, is in the table now, and those that are not there. */
const writeDays: WriteDays = (pool, batch) =>
  pool.anyFirst(sql.type(row(t.type({ api_key_id: t.string })))`
    with used as (
      select * from unnest(${sql.array(
        batch.map(([id]) => id),
        'uuid',
      )}, ${sql.array(
        batch.map(([, day]) => day),
        'date',
      )}) u(api_key_id, day)
    ), free as (
      select k.api_key_id from api_keys k join used u on u.api_key_id = k.api_key_id
      where k.last_used_on is null or k.last_used_on < u.day
      for no key update of k skip locked
    ), written as (
      update api_keys k set last_used_on = u.day from used u join free f on f.api_key_id = u.api_key_id
      where k.api_key_id = f.api_key_id
      returning k.api_key_id
    )
    select w.api_key_id from written w
    union all
    select u.api_key_id from used u left join api_keys k on k.api_key_id = u.api_key_id
    where k.api_key_id is null or k.last_used_on >= u.day
  `);

/** On Citus each day by itself, and keys that somebody is changing are waited for. */
const writeEachDay: WriteDays = async (pool, batch) => {
  for (const [day, keys] of Map.groupBy(batch, ([, each]) => each)) {
    const ids = keys.map(([id]) => id);
    await pool.query(sql.unsafe`
      update api_keys set last_used_on = ${day}::date
      where api_key_id = any (${sql.array(ids, 'uuid')}) and (last_used_on is null or last_used_on < ${day}::date)
    `);
  }
  return batch.map(([id]) => id);
};

/** The same ledger, which notes whose keys its settlements were made with. */
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
