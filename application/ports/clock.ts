/** Time and identity come in from outside. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A new UUIDv7: unique, and in order of creation. */
  readonly newId: () => string;
}
