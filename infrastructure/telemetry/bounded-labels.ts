import type { Label } from './label-table.ts';

/** The label value for everything that has no value of its own. */
export const other = 'other';

/** Keeps the first `max` values; every later one becomes `other`, so that made-up values cannot create more series. */
export class BoundedValues {
  private readonly kept = new Set<string>();
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  named(value: string): string {
    if (this.kept.has(value)) return value;
    if (this.kept.size >= this.max) return other;
    this.kept.add(value);
    return value;
  }
}

/** The attributes of a metric's data point. */
export type Labels = Readonly<Record<string, string | boolean>>;

/**
 * Labels as an object that exists once for each combination of values. An instrument finds the data point by identity,
 * which costs a fraction of comparing or serializing the labels.
 */
export class LabelSet {
  readonly labels: Labels;
  /** By the added label, then by its value. */
  private readonly narrower = new Map<string, Map<string, LabelSet>>();

  constructor(labels: Labels) {
    this.labels = labels;
  }

  /** These labels and one more. Only for labels with a closed list of values: nothing else bounds the sets. */
  with(label: Label, value: string): LabelSet {
    let sets = this.narrower.get(label);
    if (sets === undefined) this.narrower.set(label, (sets = new Map()));
    const known = sets.get(value);
    if (known !== undefined) return known;
    const made = new LabelSet({ ...this.labels, [label]: value });
    sets.set(value, made);
    return made;
  }
}

/** The label set for everything beyond the bounds, with the label of the OpenTelemetry specification. */
export const overflowing = new LabelSet({ 'otel.metric.overflow': true });

export interface LabelSetBounds {
  /** From this many sets on, new ones have `other` in the labels that are given up first. */
  readonly foldFrom: number;
  /** The maximum number of sets; everything beyond it gets `overflowing`. */
  readonly max: number;
}

/** One `LabelSet` for each combination of values of some labels, up to a bound. */
export class LabelSets {
  private readonly sets = new Map<string, LabelSet>();
  private readonly names: readonly string[];
  private readonly givenUpFirst: readonly boolean[];
  private readonly bounds: LabelSetBounds;

  constructor(names: readonly string[], givenUpFirst: readonly string[], bounds: LabelSetBounds) {
    this.names = names;
    this.givenUpFirst = names.map((name) => givenUpFirst.includes(name));
    this.bounds = bounds;
  }

  /** `values` are in the order of the names; a label without a value is left out. */
  of(values: readonly (string | undefined)[]): LabelSet {
    const known = this.sets.get(keyOf(values));
    if (known !== undefined) return known;
    return this.sets.size < this.bounds.foldFrom ? this.made(values) : this.folded(values);
  }

  private folded(values: readonly (string | undefined)[]): LabelSet {
    const fewer = values.map((value, at) =>
      value !== undefined && this.givenUpFirst[at] === true ? other : value,
    );
    const known = this.sets.get(keyOf(fewer));
    if (known !== undefined) return known;
    return this.sets.size < this.bounds.max ? this.made(fewer) : overflowing;
  }

  private made(values: readonly (string | undefined)[]): LabelSet {
    const labels: Record<string, string> = {};
    this.names.forEach((name, at) => {
      const value = values[at];
      if (value !== undefined) labels[name] = value;
    });
    const set = new LabelSet(labels);
    this.sets.set(keyOf(values), set);
    return set;
  }
}

/** No value contains U+0000: the database, where models and providers come from, cannot store it. */
const keyOf = (values: readonly (string | undefined)[]): string => values.join('\u0000');
