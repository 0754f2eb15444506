/** How often something stands in the smaller and in the larger input. */
const sizes = { small: 20_000, large: 80_000 } as const;

/** Time at 80,000 is below so many times that at 20,000: four times, and room for what memory costs. */
const bound = 6;

/**
 * Milliseconds that the larger input may take whatever the smaller one does: one step for each pair of 80,000 takes
 * seconds, and what is faster than this is told by the collector of garbage more than by the work.
 */
const nothingMs = 100;

const rounds = 6;

/** Milliseconds after which an input is not taken again, nor a larger one at all: none of them takes half as long. */
const longMs = 2000;

/** Milliseconds that this thread computed: other work on the machine counts for nothing. */
function costOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * How many times as long the work takes that is made for the larger input; undefined: it grows evenly. The least of
 * several times counts, and one that is good enough is not taken again.
 */
export function steepGrowth(make: (count: number) => () => void): number | undefined {
  const small = make(sizes.small);
  const least = { small: costOf(small), large: Number.POSITIVE_INFINITY };
  if (least.small > longMs) return least.large;
  const large = make(sizes.large);
  for (let round = 0; round < rounds; round += 1) {
    least.large = Math.min(least.large, costOf(large));
    if (least.large < Math.max(nothingMs, bound * least.small)) return undefined;
    least.small = Math.min(least.small, costOf(small));
    if (least.large > bound * longMs) break;
  }
  return least.large / least.small;
}

/** So many, one after the other. */
export const times = <A>(count: number, make: (index: number) => A): A[] =>
  Array.from({ length: count }, (_, index) => make(index));
