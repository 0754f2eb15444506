import type { Losses, SeedLoss } from './ports/seed.ts';

/** What a file would end, in words: for each kind that it affects, how many of how many. */
export const endings = (losses: Losses): string | undefined => inWords(losses, ({ lost }) => lost > 0);

/**
 * What a file would end, in words, when that is more than half of a kind, as with a truncated or mixed-up file. A file
 * that is smaller on purpose can be confirmed.
 */
export const shrinkage = (losses: Losses): string | undefined =>
  inWords(losses, ({ there, lost }) => lost * 2 > there);

function inWords(losses: Losses, tells: (loss: SeedLoss) => boolean): string | undefined {
  const parts = Object.entries(losses)
    .filter(([, loss]) => tells(loss))
    .map(([kind, { there, lost }]) => `${lost} of ${there} ${kind}`);
  return parts.length === 0 ? undefined : parts.join(', ');
}
