/** The end of the grace: what is in flight then is cut off by the gateway, not left by its caller. */
export interface CutOff {
  /** Cuts off everything in flight, and what comes after. */
  readonly now: () => void;
  /** Calls back once when that happens, at once if it has happened; the returned function forgets the callback. */
  readonly whenCut: (callback: () => void) => () => void;
}

export function cutOff(): CutOff {
  let cut = false;
  const callbacks = new Set<() => void>();
  return {
    now: () => {
      cut = true;
      for (const callback of callbacks) callback();
      callbacks.clear();
    },
    whenCut: (callback) => {
      if (cut) callback();
      else callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
}
