import type { Picodollars } from '../../domain/money/money.ts';
import { type Labels, type LabelSet, overflowing } from './bounded-labels.ts';
import type { MetricName } from './metric-table.ts';

/** A data point: the current value of a metric for one set of labels. */
export interface Point<Value = number> {
  readonly labels: Labels;
  readonly value: Value;
}

/** The data point of a counter, a gauge or a histogram. */
export type AnyPoint = Point | Point<HistogramValue>;

/** The current data points of a metric. */
export interface MetricPoints {
  readonly name: MetricName;
  readonly points: readonly AnyPoint[];
}

/** `counts` has one more entry than there are bounds; a value that equals a bound is in the bucket below it. */
export interface HistogramValue {
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
}

/** Maximum number of data points of one metric, not counting the one for the overflow. */
export const maxPoints = 2000;

/**
 * A cumulative counter, in the unit that is added. Adding is a look-up by identity and an addition, as requests wait
 * for it.
 */
export class Counter<N extends number | bigint> {
  private readonly cells = new Map<LabelSet, { sum: N }>();

  add(labels: LabelSet, amount: N): void {
    const cell = this.cells.get(labels);
    if (cell !== undefined) cell.sum = plus(cell.sum, amount);
    else if (this.cells.size < maxPoints || labels === overflowing) this.cells.set(labels, { sum: amount });
    else this.add(overflowing, amount);
  }

  points(toNumber: (sum: N) => number): readonly Point[] {
    return Array.from(this.cells, ([{ labels }, { sum }]) => ({ labels, value: toNumber(sum) }));
  }
}

/** Both operands are numbers or both are bigints, which the compiler cannot tell from a type parameter. */
const plus = <N extends number | bigint>(a: N, b: N): N => ((a as number) + (b as number)) as N;

const picodollarsPerUsd = 1e12;

/** Rounds, so it is for export only: sums are kept in picodollars, exactly. */
export const inUsd = (amount: Picodollars): number => Number(amount) / picodollarsPerUsd;

interface Buckets {
  counts: number[];
  sum: number;
  count: number;
  min: number;
  max: number;
}

/** A cumulative histogram with explicit bounds. */
export class Histogram {
  private readonly cells = new Map<LabelSet, Buckets>();
  private readonly bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
  }

  record(labels: LabelSet, value: number): void {
    const cell = this.cells.get(labels);
    if (cell !== undefined) this.put(cell, value);
    else if (this.cells.size < maxPoints || labels === overflowing) this.put(this.opened(labels), value);
    else this.record(overflowing, value);
  }

  points(): readonly Point<HistogramValue>[] {
    return Array.from(this.cells, ([{ labels }, cell]) => ({
      labels,
      value: { ...cell, counts: [...cell.counts] },
    }));
  }

  private opened(labels: LabelSet): Buckets {
    const cell: Buckets = {
      counts: Array.from({ length: this.bounds.length + 1 }, () => 0),
      sum: 0,
      count: 0,
      min: Number.POSITIVE_INFINITY,
      max: Number.NEGATIVE_INFINITY,
    };
    this.cells.set(labels, cell);
    return cell;
  }

  private put(cell: Buckets, value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? 0)) bucket += 1;
    cell.counts[bucket] = (cell.counts[bucket] ?? 0) + 1;
    cell.sum += value;
    cell.count += 1;
    cell.min = Math.min(cell.min, value);
    cell.max = Math.max(cell.max, value);
  }
}
