/** The number of repetitions in the smallest input; each next input has four times as many. */
const smallest = 5000;

/**
 * Four times as many may take less than this many times as long: four times, with a margin for the cost of
 * memory.
 */
const bound = 6;

/** From this ratio on only the work itself can explain the time: memory has no step as high. */
const surelySteep = 10;

/**
 * Milliseconds that the larger input may take in any case: one step for each pair of 20,000 takes some tenths
 * of a second, and shorter times depend more on garbage collection than on the work.
 */
const nothingMs = 60;

const rounds = 6;

/** Milliseconds after which an input is not measured again: none takes half as long. */
const longMs = 2000;

/** Milliseconds of processor time of this thread: other work on the machine does not count. */
export function costOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The ratio of the times for `large` and the smaller input; undefined below the bound. The least of several
 * times counts. The larger input comes first: if it takes no time, the smaller one is not created.
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
 * The ratio of the times for four times as many; undefined if the time grows linearly. A ratio little above
 * the bound is measured again with both inputs four times as large: an input that no longer fits a cache
 * costs more once, and steep work costs more each time.
 */
export function steepGrowth(make: (count: number) => () => void): number | undefined {
  const larger = make(4 * smallest);
  const ratio = ratioOf(() => make(smallest), larger);
  if (ratio === undefined || ratio > surelySteep) return ratio;
  return ratioOf(() => larger, make(16 * smallest));
}

/** So many items, in order. */
export const times = <A>(count: number, make: (index: number) => A): A[] =>
  Array.from({ length: count }, (_, index) => make(index));
