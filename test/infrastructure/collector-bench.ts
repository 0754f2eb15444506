import { Collector, putBack } from '../../infrastructure/postgres/collector.ts';

/** `lane:name`, or `name` for an item without a lane. */
export type Item = string;

export const laneOf = (item: Item): string | undefined =>
  item.includes(':') ? item.split(':')[0] : undefined;

export interface Batch {
  readonly items: readonly Item[];
  /** Answers each item with `name!`. */
  readonly succeed: () => void;
  readonly answer: (results: readonly (string | typeof putBack)[]) => void;
  readonly fail: (error: Error) => void;
}

/** A collector whose statements the test ends. */
export function underTest(size: (item: Item) => number = () => 1) {
  const batches: Batch[] = [];
  const open = new Set<Batch>();
  const collector = new Collector<Item, string>({
    lane: laneOf,
    size,
    run: (items) =>
      new Promise((resolve, reject) => {
        const ended = (end: () => void) => () => {
          open.delete(batch);
          end();
        };
        const batch: Batch = {
          items,
          succeed: ended(() => resolve(items.map((item) => `${item}!`))),
          answer: (results) => ended(() => resolve(results))(),
          fail: (error) => ended(() => reject(error))(),
        };
        batches.push(batch);
        open.add(batch);
      }),
  });
  /** The result or error message of each item that has one. */
  const fates = new Map<Item, string>();
  const add = (...items: readonly Item[]): void => {
    for (const item of items)
      collector.add(item).then(
        (result) => fates.set(item, result),
        (error: unknown) => fates.set(item, error instanceof Error ? error.message : 'no error'),
      );
  };
  return { collector, batches, open, add, fates, sent: () => batches.map(({ items }) => items) };
}
