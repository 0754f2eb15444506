import type { Losses } from './ports/seed.ts';

/**
 * What a file would end, in words, when that is more than half of what is there of a kind: a file that was cut off or
 * mixed up looks like this. One that is meant to be smaller can say so.
 */
export function shrinkage(losses: Losses): string | undefined {
  const shrunk = Object.entries(losses)
    .filter(([, { there, lost }]) => lost * 2 > there)
    .map(([kind, { there, lost }]) => `${lost} of ${there} ${kind}`);
  return shrunk.length === 0 ? undefined : shrunk.join(', ');
}
