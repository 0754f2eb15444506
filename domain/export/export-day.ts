import type { Window } from '../shared/window.ts';

/** A UTC day, such as `2026-11-01`. */
export type ExportDay = string;

const dayMs = 86_400_000;

/**
 * A row has the time of its settlement's lock and is there when its transaction has ended. No statement of a settlement
 * takes longer than ten seconds: what is a minute old is whole.
 */
const settledAfterMs = 60_000;

/** The day of this text, or undefined where it is none. */
export function readExportDay(text: string): ExportDay | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // What rolls over, such as the 30th of February, comes back as another day.
  return !Number.isNaN(at) && exportDayOf(new Date(at)) === text ? text : undefined;
}

const exportDayOf = (at: Date): ExportDay => at.toISOString().slice(0, 10);

export const windowOfDay = (day: ExportDay): Window => {
  const from = Date.parse(`${day}T00:00:00Z`);
  return { from: new Date(from), until: new Date(from + dayMs) };
};

/** The first day that is not over: its rows, and later ones, are left for the next run. */
export const safeCut = (now: Date): ExportDay => exportDayOf(new Date(now.getTime() - settledAfterMs));

/** Ten years: a range that is longer is a year mistyped. */
const maxExportDays = 3660;

/** The days of a half-open range; undefined where there are more than ten years of them. */
export function exportDays(from: ExportDay, to: ExportDay): readonly ExportDay[] | undefined {
  const days: ExportDay[] = [];
  for (let day = from; day < to; day = exportDayOf(windowOfDay(day).until)) {
    if (days.length === maxExportDays) return undefined;
    days.push(day);
  }
  return days;
}
