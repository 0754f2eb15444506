import { setImmediate as turn } from 'node:timers/promises';

/** Items that are presented or printed in one turn of the event loop, which takes some milliseconds. */
export const turnItems = 500;

/** Maps each slice of a list of any length, and lets other work have a turn in between (rule 23.14). */
export async function mappedInTurns<A, B>(
  items: readonly A[],
  map: (slice: readonly A[]) => B,
): Promise<readonly B[]> {
  const mapped: B[] = [];
  for (let from = 0; from < items.length; from += turnItems) {
    if (from > 0) await turn();
    mapped.push(map(items.slice(from, from + turnItems)));
  }
  return mapped;
}
