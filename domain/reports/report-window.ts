import type { Window } from '../shared/window.ts';

/** Time buckets of leaderboard and harness usage are 12-hour UTC buckets. */
export const bucketHours = 12;

/** The number of buckets in a range of 7 or 31 days. */
export const bucketsOf = { '7d': 14, '31d': 62 } as const;
export type ReportRange = keyof typeof bucketsOf;

/** Spend report `days`: 7 or 30. */
export type ReportDays = 7 | 30;

const hourMs = 3_600_000;
const bucketMs = bucketHours * hourMs;
const dayMs = 24 * hourMs;

/** The window of a range: its last bucket contains `now`, and its end is exclusive. */
export const rangeWindow = (range: ReportRange, now: Date): Window =>
  endingWith(now, bucketMs, bucketsOf[range]);

/** `days=N` is N UTC days ending with today. */
export const daysWindow = (days: ReportDays, now: Date): Window => endingWith(now, dayMs, days);

/** The last 24 UTC hours: the last one contains `now`, and the end is exclusive. */
export const lastHours = (now: Date): Window => endingWith(now, hourMs, 24);

/** The start of every hour of a window, the earliest first. */
export const hourStarts = (window: Window): readonly Date[] => startsIn(window, hourMs);

/** The start of every bucket of a window, the earliest first. */
export const bucketStarts = (window: Window): readonly Date[] => startsIn(window, bucketMs);

/** The start of every day of a window, the earliest first. */
export const dayStarts = (window: Window): readonly Date[] => startsIn(window, dayMs);

/** The start of the UTC day that contains `at`. */
export const dayStart = (at: Date): Date => new Date(floorTo(at, dayMs));

/**
 * The milliseconds since the epoch have no leap seconds, so hours, half days and days begin at multiples of their
 * length.
 */
const floorTo = (at: Date, partMs: number): number => Math.floor(at.getTime() / partMs) * partMs;

function endingWith(now: Date, partMs: number, parts: number): Window {
  const until = floorTo(now, partMs) + partMs;
  return { from: new Date(until - parts * partMs), until: new Date(until) };
}

const startsIn = ({ from, until }: Window, partMs: number): readonly Date[] =>
  Array.from(
    { length: (until.getTime() - from.getTime()) / partMs },
    (_, index) => new Date(from.getTime() + index * partMs),
  );
