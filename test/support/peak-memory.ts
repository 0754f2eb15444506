const lookMs = 5;

/** Does the work, and returns by how many bytes the memory of this process grew at most. */
export async function peakGrowth<A>(
  work: () => Promise<A>,
): Promise<{ readonly result: A; readonly bytes: number }> {
  const before = process.memoryUsage.rss();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, lookMs);
  try {
    return { result: await work(), bytes: peak - before };
  } finally {
    clearInterval(watch);
  }
}
