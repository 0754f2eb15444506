/** The valid values of one field of a cron line. */
interface Range {
  readonly from: number;
  readonly to: number;
  /** Names of values, in lower case. */
  readonly words: Readonly<Record<string, number>>;
  /** A field of days, where `?` means any. */
  readonly days: boolean;
}

const numbered = (words: readonly string[], from: number): Range['words'] =>
  Object.fromEntries(words.map((word, index) => [word, from + index]));

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Minute, hour, day of the month, month, day of the week. */
const ranges: readonly Range[] = [
  { from: 0, to: 59, words: {}, days: false },
  { from: 0, to: 23, words: {}, days: false },
  { from: 1, to: 31, words: {}, days: true },
  { from: 1, to: 12, words: numbered(months, 1), days: false },
  { from: 0, to: 7, words: numbered(weekdays, 0), days: true },
];

/** Days of each month, in a leap year. */
const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

type Values = readonly number[];

/**
 * Why a cron line cannot be a purge schedule, or `undefined` when it can. It must have five fields, name a day that
 * exists, and run at most daily, so that minute and hour are one value each.
 */
export function scheduleFault(line: string): string | undefined {
  const fields = line.trim().split(/\s+/);
  if (fields.length !== ranges.length)
    return 'must be a cron line of 5 fields: minute hour day month weekday';
  const expanded = ranges.map((range, index) => expand(fields[index] ?? '', range));
  if (expanded.includes(undefined))
    return 'must be a cron line: a field is not a value, range, step or list within its bounds';
  const [minute, hour, day, month] = expanded as [Values, Values, Values, Values];
  if (minute.length * hour.length > 1)
    return 'must not run more often than daily: give one minute and one hour';
  return exists(day, month) ? undefined : 'must name a day that exists';
}

const exists = (days: Values, inMonths: Values): boolean =>
  days.length === 0 || days.some((day) => inMonths.some((month) => day <= (monthDays[month - 1] ?? 0)));

/** The values that a field matches; `undefined` when it is malformed. */
function expand(field: string, range: Range): Values | undefined {
  // Whatever the scheduler does not accept is rejected here: such a line would never run.
  if (field.includes('*') && field.includes('?')) return undefined;
  const parts = field.split(',').map((part) => expandPart(part, range));
  return parts.includes(undefined) ? undefined : [...new Set(parts.flatMap((part) => part ?? []))];
}

function expandPart(part: string, range: Range): Values | undefined {
  // The last day of a month, which every month has: it names no day that might not exist.
  if (part === 'L' && range.to === 31) return [];
  const [, span = '', step] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(part) ?? [];
  const every = step === undefined ? 1 : Number(step);
  const [from, to] = bounds(span, step !== undefined, range);
  if (from === undefined || to === undefined || from < range.from || to > range.to) return undefined;
  if (from > to || every < 1) return undefined;
  return Array.from({ length: Math.floor((to - from) / every) + 1 }, (_, index) => from + index * every);
}

function bounds(span: string, stepped: boolean, range: Range): readonly (number | undefined)[] {
  if (span === '*' || (span === '?' && range.days)) return [range.from, range.to];
  const [first = '', last, ...more] = span.split('-');
  if (more.length > 0) return [];
  const from = valueOf(first, range);
  // `5/15` runs from 5 to the end of the range.
  if (last === undefined) return [from, stepped ? range.to : from];
  const to = valueOf(last, range);
  return from === to ? [] : [from, to];
}

function valueOf(word: string, { words }: Range): number | undefined {
  if (/^\d{1,2}$/.test(word)) return Number(word);
  const name = word.toLowerCase();
  return Object.hasOwn(words, name) ? words[name] : undefined;
}
