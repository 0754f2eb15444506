import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type { Page, PageAsk } from '../../application/ports/page.ts';
import { int8 } from './codecs.ts';
import { row } from './pool.ts';
import { boundedTotal, exactTotal, readAsPlanned, readList } from './time-list.ts';

/** What admins manage, newest first. */
export interface ObjectList {
  /** What stands behind `from`, its conditions after `where` included. */
  readonly rows: FragmentSqlToken;
  /** When a row was created, and its id: the order of the list, and of the index that it is read by. */
  readonly time: FragmentSqlToken;
  readonly key: FragmentSqlToken;
  /** Few rows that no index has in this order, such as the members of a team: they are read, then sorted. */
  readonly sorted?: boolean;
}

const foundRow = t.type({ total: int8, ids: t.array(t.string) });

/** One page of a list in one snapshot; `read` reads the rows of these ids, in the order of the list. */
export async function readObjects<A>(
  pool: DatabasePool,
  { rows, time, key, sorted = false }: ObjectList,
  { page, pageSize }: PageAsk,
  read: (connection: CommonQueryMethods, ids: readonly string[]) => Promise<readonly A[]>,
): Promise<Page<A>> {
  const offset = (page - 1) * pageSize;
  const most = Math.max(exactTotal + 1, offset + pageSize);
  return (sorted ? readAsPlanned : readList)(pool, async (connection) => {
    const { total, ids } = await connection.one(sql.type(row(foundRow))`
      with found as materialized (
        select ${key}::text as id, row_number() over (order by ${time} desc, ${key} desc) as place
        from ${rows} order by ${time} desc, ${key} desc limit ${most}
      )
      select (select count(*) from found) as total,
             array(select f.id from found f where f.place > ${offset} and f.place <= ${offset + pageSize}
                   order by f.place) as ids
    `);
    return { items: await read(connection, ids), ...boundedTotal(total) };
  });
}

/** Rows whose text holds this part, in any case of letters. */
export const holds = (column: FragmentSqlToken, part: string): FragmentSqlToken =>
  sql.fragment`strpos(lower(${column}), lower(${part})) > 0`;
