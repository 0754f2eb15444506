import { type FragmentSqlToken, sql } from 'slonik';
import { errorStatuses } from '../../domain/shared/request-failure.ts';

/** A condition on the rows of a list: this column has this value. */
export interface ListCondition {
  readonly column: FragmentSqlToken;
  readonly value: string | number;
  /**
   * What the column's index holds: the value (`request_logs_user_id_idx`); its hash, since the value may be longer than
   * an index entry (`request_logs_request_id_idx`); or nothing, since nearly every row has this value and the index
   * leaves it out (`request_logs_status_code_idx` has no 200).
   */
  readonly indexed: 'value' | 'hash' | 'nothing';
}

/** The condition whose index the list is read by, and all the others. */
export interface Leading<A extends ListCondition> {
  /** Undefined: no condition has an index, so the list is read in the order of time. */
  readonly lead: FragmentSqlToken | undefined;
  readonly others: readonly A[];
}

/**
 * The first condition that an index holds leads. The planner is not left to choose, because it would choose by
 * statistics that may be a day old, and would choose otherwise tomorrow.
 */
export function leading<A extends ListCondition>(asked: readonly A[]): Leading<A> {
  const lead = asked.find(({ indexed }) => indexed !== 'nothing');
  return {
    lead: lead === undefined ? undefined : asEquality(lead),
    others: asked.filter((each) => each !== lead),
  };
}

const asEquality = ({ column, value, indexed }: ListCondition): FragmentSqlToken =>
  indexed === 'hash'
    ? sql.fragment`hashtextextended(${column}, 0) = hashtextextended(${value}, 0) and ${column} = ${value}`
    : sql.fragment`${column} = ${value}`;

/**
 * An equality written as a range, for a condition that does not lead. An index that begins with the column gives the
 * order of `list_bucket` for one value, but not for a range of values; so the planner, which needs that order, is left
 * with the index of the leading condition. Where that index holds this column too, behind `list_bucket`, it still
 * checks the condition without touching the table: `status_code` in `request_logs_user_id_idx`, for one.
 */
export const asRange = (column: FragmentSqlToken, value: string | number): FragmentSqlToken =>
  sql.fragment`${column} between ${value} and ${value}`;

/**
 * A condition on rows that are found by their primary key, in a form that no index can answer: the planner must not
 * look for these rows by a second index.
 */
export const unindexed = (condition: FragmentSqlToken): FragmentSqlToken =>
  sql.fragment`(${condition}) is true`;

/** Of a request that failed (`isFailed`). */
export const hasFailed = (status: FragmentSqlToken): FragmentSqlToken =>
  sql.fragment`${status} >= ${errorStatuses.from} and ${status} <> ${errorStatuses.except}`;

/** All of these; true where there are none. */
export const all = (conditions: readonly FragmentSqlToken[]): FragmentSqlToken =>
  conditions.length === 0 ? sql.fragment`true` : sql.fragment`${sql.join(conditions, sql.fragment` and `)}`;
