import type { Random } from '../random.ts';

/** Random places at which bytes are split; some may occur twice. */
export const placesIn = (bytes: Buffer, random: Random): readonly number[] =>
  Array.from({ length: 1 + random.below(12) }, () => random.below(bytes.length + 1));
