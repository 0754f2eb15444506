import { type FragmentSqlToken, sql } from 'slonik';
import { errorStatuses } from '../../domain/shared/request-failure.ts';

/** A condition on the rows of a list: this column has this value. */
export interface ListCondition {
  readonly column: FragmentSqlToken;
  readonly value: string | number;
  /**
   * What the column's index holds: the value (`request_logs_user_id_idx`); its hash, because the value may be longer
   * than an index entry (`request_logs_request_id_idx`); or nothing, because nearly every row has this value and the
   * index leaves it out (`request_logs_status_code_idx` has no 200).
   */
  readonly indexed: 'value' | 'hash' | 'nothing';
}

/** The condition whose index the list is read by, and all other conditions. */
export interface Leading<A extends ListCondition> {
  /** `undefined` if no condition has an index; the list is then read in the order of time. */
  readonly lead: FragmentSqlToken | undefined;
  readonly others: readonly A[];
}

/**
 * Lets the first indexed condition lead. The choice is not left to the planner, because its statistics may be a day old
 * and its choice may be different tomorrow.
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
 * Writes the equality of a non-leading condition as a range. An index that begins with the column gives the order of
 * `list_bucket` for one value, but not for a range of values. The planner needs that order, so only the index of the
 * leading condition is left. If that index also holds this column after `list_bucket`, the condition is still checked
 * without touching the table, for example `status_code` in `request_logs_user_id_idx`.
 */
export const asRange = (column: FragmentSqlToken, value: string | number): FragmentSqlToken =>
  sql.fragment`${column} between ${value} and ${value}`;

/**
 * A condition on rows that are found by their primary key, in a form that no index can serve: the planner must not
 * search for these rows by a second index.
 */
export const unindexed = (condition: FragmentSqlToken): FragmentSqlToken =>
  sql.fragment`(${condition}) is true`;

/** Whether a request failed (`isFailed`). */
export const hasFailed = (status: FragmentSqlToken): FragmentSqlToken =>
  sql.fragment`${status} >= ${errorStatuses.from} and ${status} <> ${errorStatuses.except}`;

/** The conjunction of the conditions; true if there are none. */
export const all = (conditions: readonly FragmentSqlToken[]): FragmentSqlToken =>
  conditions.length === 0 ? sql.fragment`true` : sql.fragment`${sql.join(conditions, sql.fragment` and `)}`;
