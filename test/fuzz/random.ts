import { randomNumbers } from '../support/replay-upstream.ts';

/** Random choices that depend only on a seed. */
export class Random {
  private readonly next: () => number;

  constructor(seed: number) {
    this.next = randomNumbers(seed);
  }

  /** From 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True with this probability. */
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

/** A hash of the bytes (FNV-1a), so that the same input always gets the same random choices. */
export function seedOf(bytes: Buffer): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
