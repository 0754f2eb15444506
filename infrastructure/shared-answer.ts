/**
 * One answer for every caller that asks while it is pending, or within `maxAgeMs` of its arrival. `obtain` must not fail.
 */
export function sharedAnswer<A>(maxAgeMs: number, obtain: () => Promise<A>): () => Promise<A> {
  let last: Promise<A> | undefined;
  let oldFrom = Infinity;
  return () => {
    if (last !== undefined && performance.now() < oldFrom) return last;
    oldFrom = Infinity;
    last = obtain().finally(() => {
      oldFrom = performance.now() + maxAgeMs;
    });
    return last;
  };
}
