import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type { Page, PageRequest } from '../../application/ports/page.ts';
import { int8, orUndefined } from './codecs.ts';
import { row } from './pool.ts';
import { boundedTotal, exactTotal, readAsPlanned, readList } from './time-list.ts';

/** A list of objects that admins manage, newest first. */
export interface ObjectList {
  /** What follows `from`, with its conditions after `where`; further conditions may be appended with `and`. */
  readonly rows: FragmentSqlToken;
  /** When a row was created, and its id: the order of the list and of the index by which it is read. */
  readonly time: FragmentSqlToken;
  readonly key: FragmentSqlToken;
  readonly keyType: 'text' | 'uuid';
  /** Set for few rows for which no index has this order, such as the members of a team: they are read, then sorted. */
  readonly sorted?: boolean;
}

/**
 * One page of a list, in one snapshot. `read` returns the rows that match a condition on `key` in any order, because
 * PostgreSQL would answer a statement that asks for the order by walking through the whole list.
 */
export async function readObjects<A>(
  pool: DatabasePool,
  list: ObjectList,
  page: PageRequest,
  read: (connection: CommonQueryMethods, which: FragmentSqlToken) => Promise<readonly A[]>,
  idOf: (item: A) => string,
): Promise<Page<A>> {
  return (list.sorted === true ? readAsPlanned : readList)(pool, async (connection) => {
    const { total, ids } = await idsOf(connection, list, page);
    const which = sql.fragment`${list.key} = any(${sql.array([...ids], list.keyType)})`;
    const found = new Map((await read(connection, which)).map((item) => [idOf(item), item]));
    const items = ids.flatMap((id) => found.get(id) ?? []);
    return { items, ...boundedTotal(total) };
  });
}

const foundRow = t.type({
  total: int8,
  ids: t.array(t.string),
  last_at: orUndefined(t.string),
  last_id: orUndefined(t.string),
});

/** Walks the rows once: counts them up to the limit of `total`, and continues from there for a page beyond it. */
async function idsOf(connection: CommonQueryMethods, list: ObjectList, { page, pageSize }: PageRequest) {
  const { rows, time, key } = list;
  const offset = (page - 1) * pageSize;
  const found = await connection.one(sql.type(row(foundRow))`
    with found as materialized (
      select ${key} as id, ${time} as created_at from ${rows} order by ${time} desc, ${key} desc limit ${exactTotal + 1}
    ), last as (
      select f.created_at::text as at, f.id::text as id from found f order by f.created_at, f.id limit 1
    )
    select (select count(*) from found) as total,
           array(select f.id::text from found f order by f.created_at desc, f.id desc
                 offset ${offset} limit ${pageSize}) as ids,
           (select l.at from last l) as last_at, (select l.id from last l) as last_id
  `);
  const { total, ids, last_at: at, last_id: id } = found;
  const counted = Number(total);
  if (counted <= exactTotal || ids.length === pageSize || at === undefined || id === undefined)
    return { total, ids };
  const skipped = Math.max(0, offset - counted);
  return {
    total,
    ids: [...ids, ...(await idsBehind(connection, list, { at, id }, skipped, pageSize - ids.length))],
  };
}

/** Rows after the last one that was counted, in their order. */
const idsBehind = (
  connection: CommonQueryMethods,
  { rows, time, key }: ObjectList,
  last: { readonly at: string; readonly id: string },
  offset: number,
  size: number,
): Promise<readonly string[]> =>
  connection.anyFirst(sql.type(row(t.type({ id: t.string })))`
    select p.id::text as id from (
      select ${key} as id, ${time} as created_at from ${rows} and (${time}, ${key}) < (${last.at}::timestamptz, ${last.id})
      order by ${time} desc, ${key} desc offset ${offset} limit ${size}
    ) p order by p.created_at desc, p.id desc
  `);

/** Matches rows whose text, which is stored in lower case, contains this part, ignoring case. */
export const holds = (folded: FragmentSqlToken, part: string): FragmentSqlToken =>
  sql.fragment`${folded} like (select '%' || lower(${escaped(part)}) || '%')`;

/** Escapes the characters that have a meaning in `like` patterns. */
const escaped = (part: string): string => part.replaceAll(/[\\%_]/g, String.raw`\$&`);
