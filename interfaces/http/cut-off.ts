import { LiveList } from '../../domain/shared/live-list.ts';

/** The end of the grace: what is in flight then is cut off by the gateway, not left by its caller. */
export interface CutOff {
  /** Cuts off everything in flight, and what comes after. */
  readonly now: () => void;
  /** Calls back once when that happens, at once if it has happened; the returned function forgets the callback. */
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
