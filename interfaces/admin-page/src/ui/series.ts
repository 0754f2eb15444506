export interface Series {
  readonly key: string;
  readonly name: string;
  /** All the others together: grey. */
  readonly isRest?: boolean;
}

/** A bar. Its parts are in the order of the series. */
export interface Point {
  readonly key: string;
  /** Beneath the bar; no two are the same. */
  readonly tick: string;
  readonly title: string;
  readonly parts: readonly {
    /** For the eye alone. */
    readonly height: number;
    /** What is read: exact. */
    readonly text: string;
  }[];
  /** Of everything; undefined where the series are not all. */
  readonly total?: string;
}

export const colourOf = (series: readonly Series[], index: number): string =>
  series[index]?.isRest === true ? 'var(--series-rest)' : `var(--series-${index + 1})`;
