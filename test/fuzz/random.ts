import { randomNumbers } from '../support/replay-upstream.ts';

/** Choices that follow from a seed alone. */
export class Random {
  private readonly next: () => number;

  constructor(seed: number) {
    this.next = randomNumbers(seed);
  }

  /** From 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True so often. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One of a list that is not empty. */
  pick<A>(from: readonly A[]): A {
    const picked = from[this.below(from.length)];
    if (picked === undefined) throw new Error('There is nothing to choose from.');
    return picked;
  }
}

/** A number that follows from the bytes (FNV-1a): what is drawn for an input is drawn again for the same input. */
export function seedOf(bytes: Buffer): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
