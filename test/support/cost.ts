/**
 * Milliseconds for which some work keeps this thread's processor busy: the least of up to five tries, or the
 * first that is within the bound. Pauses of the machine and its other work do not count.
 */
export function costWithin(boundMs: number, work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5 && least >= boundMs; tries += 1) {
    const from = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(from);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
