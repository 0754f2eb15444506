import type { Picodollars } from '../../domain/money/money.ts';
import { type Labels, type LabelSet, overflowing } from './bounded-labels.ts';

/** One number of a metric as it stands, with the labels that it belongs to. */
export interface Point<Value = number> {
  readonly labels: Labels;
  readonly value: Value;
}

/** A number, or how numbers are spread. */
export type AnyPoint = Point | Point<Spread>;

/** How values are spread: `counts` has one more than `bounds`, each bound belongs to the bucket below it. */
export interface Spread {
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
}

/** Points of one metric; what comes beyond is one more point, that of the overflow. */
export const maxPoints = 2000;

/** Sums since the process began, in the unit that they are added in. Adding is a look-up and an addition. */
export class Sums<N extends number | bigint> {
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

/** Both are numbers, or both are whole. */
const plus = <N extends number | bigint>(a: N, b: N): N => ((a as number) + (b as number)) as N;

const picodollarsPerUsd = 1e12;

/** For display: it is added up exactly. */
export const inUsd = (amount: Picodollars): number => Number(amount) / picodollarsPerUsd;

interface Bucketed {
  counts: number[];
  sum: number;
  count: number;
  min: number;
  max: number;
}

/** Histograms since the process began. */
export class Spreads {
  private readonly cells = new Map<LabelSet, Bucketed>();
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

  points(): readonly Point<Spread>[] {
    return Array.from(this.cells, ([{ labels }, cell]) => ({
      labels,
      value: { ...cell, counts: [...cell.counts] },
    }));
  }

  private opened(labels: LabelSet): Bucketed {
    const cell: Bucketed = {
      counts: Array.from({ length: this.bounds.length + 1 }, () => 0),
      sum: 0,
      count: 0,
      min: Number.POSITIVE_INFINITY,
      max: Number.NEGATIVE_INFINITY,
    };
    this.cells.set(labels, cell);
    return cell;
  }

  private put(cell: Bucketed, value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? 0)) bucket += 1;
    cell.counts[bucket] = (cell.counts[bucket] ?? 0) + 1;
    cell.sum += value;
    cell.count += 1;
    cell.min = Math.min(cell.min, value);
    cell.max = Math.max(cell.max, value);
  }
}
