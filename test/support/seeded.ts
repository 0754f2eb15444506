/** Numbers from 0 to below 1 that are determined by the seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of this run: `TORTURE_SEED` repeats an earlier one. */
export const tortureSeed = (): number => Number(process.env['TORTURE_SEED'] ?? Date.now() % 2 ** 31);
