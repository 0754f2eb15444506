import { setTimeout as sleep } from 'node:timers/promises';

/** Limit of items waiting for the database; further items are dropped. */
const maxWaiting = 10_000;
/** How long an item waits for others to share its statement. */
const gatherMs = 20;

export interface WriteBehindQueue<A> {
  /** Queues the item; never blocks. */
  readonly put: (item: A) => void;
  /** Waits until everything queued is written, at most this many milliseconds. */
  readonly close: (withinMs: number) => Promise<void>;
}

/**
 * A bounded write-behind queue of small items, one statement at a time. Of items with the same key only the last one is
 * written. When a statement fails, its items are lost.
 */
export function writeBehindQueue<A>(
  keyOf: (item: A) => readonly (string | undefined)[],
  writeAll: (items: readonly A[]) => Promise<void>,
  onFault: (error: unknown) => void,
): WriteBehindQueue<A> {
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
