import { setTimeout as sleep } from 'node:timers/promises';

/** Items that wait for the database; beyond it they are left out. */
const maxWaiting = 10_000;
/** An item waits this long for others to share its statement. */
const gatherMs = 20;

export interface BehindAnswers<A> {
  /** It never makes anybody wait. */
  readonly put: (item: A) => void;
  /** Writes what waits; gives up after so many milliseconds. */
  readonly close: (withinMs: number) => Promise<void>;
}

/**
 * Small items in a bounded write-behind queue, one statement at a time; of those with the same key the last one is
 * written. A statement that fails takes its own with it.
 */
export function behindAnswers<A>(
  keyOf: (item: A) => readonly (string | undefined)[],
  writeAll: (items: readonly A[]) => Promise<void>,
  onFault: (error: unknown) => void,
): BehindAnswers<A> {
  let waiting = new Map<string, A>();
  let writing: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    await sleep(gatherMs);
    while (waiting.size > 0) {
      const batch = [...waiting.values()];
      waiting = new Map();
      await writeAll(batch).catch(onFault);
    }
    writing = undefined;
  };
  return {
    put: (item) => {
      const key = JSON.stringify(keyOf(item));
      if (waiting.size >= maxWaiting && !waiting.has(key)) return;
      waiting.set(key, item);
      writing ??= write();
    },
    close: async (withinMs) => {
      await Promise.race([writing, sleep(withinMs, undefined, { ref: false })]);
    },
  };
}
