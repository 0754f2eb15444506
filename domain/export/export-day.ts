import type { Window } from '../shared/window.ts';

/** A UTC day, such as `2026-11-01`. */
export type ExportDay = string;

const dayMs = 86_400_000;

/**
 * A row's time is read by the statement that settles it, after its locks, and the row is visible once that statement
 * has committed. No statement of a settlement takes longer than ten seconds, so a minute later every such row is there.
 * Only a record that comes late, out of a journal, can still add a row to a past day: a later run exports that day
 * again.
 */
const settledAfterMs = 60_000;

/** Parses a day; `undefined` when the text is not one. */
export function readExportDay(text: string): ExportDay | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // A date that does not exist, such as 30 February, is parsed as another day.
  return !Number.isNaN(at) && exportDayOf(new Date(at)) === text ? text : undefined;
}

const exportDayOf = (at: Date): ExportDay => at.toISOString().slice(0, 10);

export const windowOfDay = (day: ExportDay): Window => {
  const from = Date.parse(`${day}T00:00:00Z`);
  return { from: new Date(from), until: new Date(from + dayMs) };
};

/** The first day that was not over a minute ago. Its rows, and later ones, are left for the next run. */
export const firstOpenDay = (now: Date): ExportDay => exportDayOf(new Date(now.getTime() - settledAfterMs));

/** Ten years. A longer range is most likely a mistyped year. */
const maxExportDays = 3660;

/** The days of a half-open range; `undefined` when there are more than ten years of them. */
export function exportDays(from: ExportDay, to: ExportDay): readonly ExportDay[] | undefined {
  const days: ExportDay[] = [];
  for (let day = from; day < to; day = exportDayOf(windowOfDay(day).until)) {
    if (days.length === maxExportDays) return undefined;
    days.push(day);
  }
  return days;
}
