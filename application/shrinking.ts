import type { Losses } from './ports/seed.ts';

/**
 * What a file would end, in words, when that is more than half of what is there of a kind: a file that was cut off or
 * mixed up looks like this, and a smaller one that is meant can be told to be.
 */
export function shrinkage(losses: Losses): string | undefined {
  const told = Object.entries(losses)
    .filter(([, { there, lost }]) => lost * 2 > there)
    .map(([kind, { there, lost }]) => `${lost} of ${there} ${kind}`);
  return told.length === 0 ? undefined : told.join(', ');
}
