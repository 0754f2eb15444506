import type { Random } from '../random.ts';

/** Places at which bytes are cut into pieces: anywhere, and some of them twice. */
export const placesIn = (bytes: Buffer, random: Random): readonly number[] =>
  Array.from({ length: 1 + random.below(12) }, () => random.below(bytes.length + 1));
