/** A chart shows the top 5, so that its lines can be told apart. */
export const chartRows = 5;

/** A table shows the top 30. */
const tableRows = 30;

/** Negative when `one` comes first. */
export type RankOrder<A> = (one: A, other: A) => number;

export const descending =
  <A>(of: (item: A) => number | bigint): RankOrder<A> =>
  (one, other) =>
    of(one) === of(other) ? 0 : of(one) > of(other) ? -1 : 1;

/** Compares text by code units, so that the order does not depend on the collation of a database. */
export const ascending =
  <A>(of: (item: A) => string): RankOrder<A> =>
  (one, other) =>
    of(one) === of(other) ? 0 : of(one) < of(other) ? -1 : 1;

/** The first order that distinguishes two items decides. */
export const inOrder =
  <A>(...orders: readonly RankOrder<A>[]): RankOrder<A> =>
  (one, other) => {
    for (const order of orders) {
      const decided = order(one, other);
      if (decided !== 0) return decided;
    }
    return 0;
  };

/** The top of the table, each with its rank from 1. */
export const ranked = <A>(
  items: readonly A[],
  order: RankOrder<A>,
): readonly (A & { readonly rank: number })[] =>
  items
    .toSorted(order)
    .slice(0, tableRows)
    .map((item, index) => ({ ...item, rank: index + 1 }));
