import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { BudgetAuthor, PastBudget } from '../../application/ports/budgets.ts';
import type { Page, PageRequest } from '../../application/ports/page.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import { cadence, timestamp, int8, orUndefined } from './codecs.ts';
import { row } from './pool.ts';
import { pageOf, readList, type TimeList, totalOf } from './time-list.ts';

const author = orUndefined(t.keyof({ admin: null, config: null }));
const text = orUndefined(t.string);

const historyRow = t.type({
  budget_id: t.string,
  cadence,
  amount_10000: int8,
  hard_limit: t.boolean,
  timezone: t.string,
  created_at: timestamp,
  set_by: author,
  set_by_user_id: text,
  set_by_user_name: text,
  deactivated_at: orUndefined(timestamp),
  deactivated_by: author,
  deactivated_by_user_id: text,
  deactivated_by_user_name: text,
});

/** Every budget of an owner, newest first. */
export const budgetHistory = (
  pool: DatabasePool,
  owner: Owner,
  page: PageRequest,
): Promise<Page<PastBudget>> =>
  readList(pool, async (connection) => {
    const [table, ofOwner] =
      owner.kind === 'user'
        ? [sql.fragment`user_budgets`, sql.fragment`b.user_id = ${owner.userId}`]
        : [sql.fragment`team_budgets`, sql.fragment`b.team_id = ${owner.teamId}`];
    const list: TimeList = {
      by: 'time',
      rows: sql.fragment`${table} b where ${ofOwner}`,
      time: sql.fragment`b.created_at`,
      key: sql.fragment`b.budget_id`,
    };
    const total = await totalOf(connection, list, {});
    const found = await connection.any(sql.type(row(historyRow))`
      select b.budget_id, b.cadence, b.amount_10000::text, b.hard_limit, b.timezone, b.created_at, b.set_by,
             b.set_by_user_id, s.name as set_by_user_name, b.deactivated_at, b.deactivated_by,
             b.deactivated_by_user_id, d.name as deactivated_by_user_name
      from (${pageOf(list, {}, page)}) page join ${table} b on b.budget_id = page.id
      left join users s on s.user_id = b.set_by_user_id
      left join users d on d.user_id = b.deactivated_by_user_id
      order by page.occurred_at desc, page.id desc
    `);
    return { items: found.map(pastBudget), ...total };
  });

const pastBudget = (found: t.TypeOf<typeof historyRow>): PastBudget => ({
  budgetId: found.budget_id,
  cadence: found.cadence,
  amount10000: found.amount_10000,
  hardLimit: found.hard_limit,
  timezone: found.timezone,
  createdAt: found.created_at,
  setBy: authorIn(found.set_by, found.set_by_user_id, found.set_by_user_name),
  ended:
    found.deactivated_at === undefined
      ? undefined
      : {
          at: found.deactivated_at,
          by: authorIn(found.deactivated_by, found.deactivated_by_user_id, found.deactivated_by_user_name),
        },
});

function authorIn(
  kind: 'admin' | 'config' | undefined,
  id: string | undefined,
  name: string | undefined,
): BudgetAuthor | undefined {
  if (kind !== 'admin') return kind && { kind };
  return { kind, user: id === undefined ? undefined : { id, name } };
}
