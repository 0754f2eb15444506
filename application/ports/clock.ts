/** The source of time and of new ids. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A new UUIDv7: unique, and ordered by creation. */
  readonly newId: () => string;
}
