const utcInstant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?Z$/;

/** RFC 3339 in UTC with `Z`, with at most milliseconds, and a day that exists in the calendar. */
export function isUtcInstant(text: string): boolean {
  if (!utcInstant.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 19) === text.slice(0, 19);
}
