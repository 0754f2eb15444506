/** The largest 32-bit integer, which is what the column holds: about 25 days in milliseconds. */
const maxMs = 2_147_483_647;

/** Milliseconds between two readings of the wall clock, clamped because it may be set in between (rule 38.11). */
export const elapsedMs = (from: number, to: number): number => Math.min(maxMs, Math.max(0, to - from));
