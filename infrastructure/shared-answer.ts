/** One answer for all who ask while it is on its way, or at most so long after it came. `ask` does not fail. */
export function sharedAnswer<A>(maxAgeMs: number, ask: () => Promise<A>): () => Promise<A> {
  let last: Promise<A> | undefined;
  let oldFrom = Infinity;
  return () => {
    if (last !== undefined && performance.now() < oldFrom) return last;
    oldFrom = Infinity;
    last = ask().finally(() => {
      oldFrom = performance.now() + maxAgeMs;
    });
    return last;
  };
}
