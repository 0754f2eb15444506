export interface Series {
  readonly key: string;
  readonly name: string;
  /** All others together, in grey. */
  readonly isRest?: boolean;
}

/** A bar. Its parts are in the order of the series. */
export interface Point {
  readonly key: string;
  /** Below the bar. No two are the same. */
  readonly tick: string;
  readonly title: string;
  readonly parts: readonly {
    /** For drawing only. */
    readonly height: number;
    /** For reading: exact. */
    readonly text: string;
  }[];
  /** Of everything; `undefined` when the series do not cover everything. */
  readonly total?: string;
}

export const colourOf = (series: readonly Series[], index: number): string =>
  series[index]?.isRest === true ? 'var(--series-rest)' : `var(--series-${index + 1})`;
