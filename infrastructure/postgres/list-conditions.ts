import { type FragmentSqlToken, sql } from 'slonik';

/** What is asked of each row of a list: this value in this column. */
export interface ListCondition {
  readonly column: FragmentSqlToken;
  readonly value: string | number;
  /**
   * What the column's index holds: the value; its hash, where it may be longer than an index takes; or nothing of this
   * value, since nearly every row has it.
   */
  readonly indexed: 'value' | 'hash' | 'nothing';
}

/** The one thing that a list is read by, and all the others. */
export interface Led<A extends ListCondition> {
  /** Undefined: nothing is left but to read in the order of time. */
  readonly lead: FragmentSqlToken | undefined;
  readonly others: readonly A[];
}

/** The first that is in an index leads: not the planner says which, whose statistics are those of another day. */
export function led<A extends ListCondition>(asked: readonly A[]): Led<A> {
  const lead = asked.find(({ indexed }) => indexed !== 'nothing');
  return {
    lead: lead === undefined ? undefined : leading(lead),
    others: asked.filter((each) => each !== lead),
  };
}

const leading = ({ column, value, indexed }: ListCondition): FragmentSqlToken =>
  indexed === 'hash'
    ? sql.fragment`hashtextextended(${column}, 0) = hashtextextended(${value}, 0) and ${column} = ${value}`
    : sql.fragment`${column} = ${value}`;

/**
 * What a list is not read by, as a range: no index gives a range in the order of time, so the one of what leads is the
 * only one that is left. An index that holds the column behind its own still looks for it.
 */
export const beside = (column: FragmentSqlToken, value: string | number): FragmentSqlToken =>
  sql.fragment`${column} between ${value} and ${value}`;

/** What is looked at in rows that were found by their key already: in a form that no index is made for. */
export const afterwards = (condition: FragmentSqlToken): FragmentSqlToken =>
  sql.fragment`(${condition}) is true`;

/** All of these; true where there are none. */
export const all = (conditions: readonly FragmentSqlToken[]): FragmentSqlToken =>
  conditions.length === 0 ? sql.fragment`true` : sql.fragment`${sql.join(conditions, sql.fragment` and `)}`;
