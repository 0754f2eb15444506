/**
 * Milliseconds that some work keeps this thread's processor busy: the least of up to five tries, the first that is
 * within the bound. Neither a pause of the machine nor what else it does is of the work.
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
