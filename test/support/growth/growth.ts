/** How often something stands in the smallest input; each next one holds four times as many. */
const smallest = 5000;

/** Time for four times as many is below so many times as long: four times, and room for what memory costs. */
const bound = 6;

/** From here on nothing but the work itself explains the time: memory has no step as high as this. */
const surelySteep = 10;

/**
 * Milliseconds that the larger input may take whatever the smaller one does: one step for each pair of 20,000 takes
 * some tenths of a second, and what is faster than this is told by the collector of garbage more than by the work.
 */
const nothingMs = 60;

const rounds = 6;

/** Milliseconds after which an input is not taken again: none of them takes half as long. */
const longMs = 2000;

/** Milliseconds that this thread computed: other work on the machine counts for nothing. */
export function costOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * How many times as long `large` takes; undefined: below the bound. The least of several times counts. The larger
 * input comes first: where it takes no time, the smaller one is not even made.
 */
function ratioOf(makeSmall: () => () => void, large: () => void): number | undefined {
  const first = costOf(large);
  if (first < nothingMs) return undefined;
  const small = makeSmall();
  const least = { small: costOf(small), large: first };
  if (least.small > longMs) return Number.POSITIVE_INFINITY;
  const isEven = (): boolean => least.large < Math.max(nothingMs, bound * least.small);
  for (let round = 1; round < rounds && !isEven() && least.large <= bound * longMs; round += 1) {
    least.large = Math.min(least.large, costOf(large));
    least.small = Math.min(least.small, costOf(small));
  }
  return isEven() ? undefined : least.large / least.small;
}

/**
 * How many times as long the work takes that is made for four times as many; undefined: it grows evenly. A ratio
 * little above the bound is measured again with both inputs four times as large, since an input that no longer fits
 * a cache costs more once, and steep work costs more each time.
 */
export function steepGrowth(make: (count: number) => () => void): number | undefined {
  const larger = make(4 * smallest);
  const ratio = ratioOf(() => make(smallest), larger);
  if (ratio === undefined || ratio > surelySteep) return ratio;
  return ratioOf(() => larger, make(16 * smallest));
}

/** So many, one after the other. */
export const times = <A>(count: number, make: (index: number) => A): A[] =>
  Array.from({ length: count }, (_, index) => make(index));
