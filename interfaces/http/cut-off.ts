import { LiveList } from '../../domain/shared/live-list.ts';

/** The end of the grace period: the gateway then aborts everything in flight, which is not a client disconnect. */
export interface CutOff {
  /** Aborts everything in flight, and everything that starts later. */
  readonly now: () => void;
  /**
   * Calls back once when that happens, or immediately if it has happened. The returned function removes the callback.
   */
  readonly whenCut: (callback: () => void) => () => void;
}

export function cutOff(): CutOff {
  let cut = false;
  const callbacks = new LiveList<() => void>();
  return {
    now: () => {
      if (cut) return;
      cut = true;
      for (const callback of callbacks.values()) callback();
    },
    whenCut: (callback) => {
      if (!cut) return callbacks.add(callback);
      callback();
      return () => undefined;
    },
  };
}
