/** The largest number in a column of 32 bits: some 25 days in milliseconds. */
const maxMs = 2_147_483_647;

/** Milliseconds from one reading of the wall clock to a later one. The clock may have been set between them (rule 38.11). */
export const elapsedMs = (from: number, to: number): number => Math.min(maxMs, Math.max(0, to - from));
