import type { Losses, SeedLoss } from './ports/seed.ts';

/** What a file would end, in words: how many of how many, of each kind of which it would end any. */
export const endings = (losses: Losses): string | undefined => inWords(losses, ({ lost }) => lost > 0);

/**
 * What a file would end, in words, when that is more than half of what is there of a kind: a file that was cut off or
 * mixed up looks like this. One that is meant to be smaller can say so.
 */
export const shrinkage = (losses: Losses): string | undefined =>
  inWords(losses, ({ there, lost }) => lost * 2 > there);

function inWords(losses: Losses, tells: (loss: SeedLoss) => boolean): string | undefined {
  const told = Object.entries(losses)
    .filter(([, loss]) => tells(loss))
    .map(([kind, { there, lost }]) => `${lost} of ${there} ${kind}`);
  return told.length === 0 ? undefined : told.join(', ');
}
