import type { Cadence } from './budget.ts';
import type { Window } from '../shared/window.ts';

/**
 * Production does not call this: it mirrors `budget_window_start` and `budget_window_end`, and tests check the SQL
 * against it. Returns the UTC window that contains `at`. Windows are half-open, so that each instant is in exactly one.
 * Daily windows begin at 00:00:00, weekly ones on Monday at 00:00:00, monthly ones on the first day at 00:00:00.
 */
export const budgetWindow = (cadence: Cadence, at: Date): Window =>
  windowOf[cadence](at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), (at.getUTCDay() + 6) % 7);

type WindowRule = (year: number, month: number, day: number, daysSinceMonday: number) => Window;

const windowOf: Readonly<Record<Cadence, WindowRule>> = {
  daily: (year, month, day) => ({ from: utc(year, month, day), until: utc(year, month, day + 1) }),
  weekly: (year, month, day, since) => ({
    from: utc(year, month, day - since),
    until: utc(year, month, day - since + 7),
  }),
  monthly: (year, month) => ({ from: utc(year, month, 1), until: utc(year, month + 1, 1) }),
};

/** `Date.UTC` maps the years 0 to 99 to 1900 to 1999; `setUTCFullYear` does not. */
function utc(year: number, month: number, day: number): Date {
  const date = new Date(Date.UTC(2000, 0, 1));
  date.setUTCFullYear(year, month, day);
  return date;
}
