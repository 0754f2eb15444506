import type { Filters } from '../../app/address.ts';
import { wordOf } from '../../app/words.ts';

/** Ranges that end now; `range` in the address. */
export const ranges = [
  { key: '1h', label: 'Last hour', ms: 3_600_000 },
  { key: '24h', label: 'Last day', ms: 24 * 3_600_000 },
  { key: '7d', label: '7 d', ms: 7 * 24 * 3_600_000 },
  { key: '30d', label: '30 d', ms: 30 * 24 * 3_600_000 },
] as const;

export type RangeChoice = (typeof ranges)[number]['key'] | 'all' | 'custom';

/** The choice in the address. Explicit instants take precedence over a range. */
export function rangeOf(filters: Filters): RangeChoice {
  if (filters['from'] !== undefined || filters['to'] !== undefined) return 'custom';
  const range = ranges.find(({ key }) => key === filters['range'])?.key;
  return range ?? (filters['range'] === 'custom' ? 'custom' : 'all');
}

const rangeWords = [...ranges.map(({ key }) => key), 'custom'];

/**
 * The start and the end that the address asks for, as RFC 3339; `now` in milliseconds since the epoch. An unknown range
 * is rejected: otherwise all times would be shown as if they had been asked for.
 */
export function instantsOf(filters: Filters, now: number): { from?: string; to?: string } {
  wordOf('range', rangeWords, filters['range']);
  const choice = rangeOf(filters);
  if (choice === 'custom') return { ...given('from', filters), ...given('to', filters) };
  const range = ranges.find(({ key }) => key === choice);
  return range === undefined ? {} : { from: new Date(now - range.ms).toISOString() };
}

const given = (name: 'from' | 'to', filters: Filters): { from?: string; to?: string } => {
  const instant = filters[name];
  return instant === undefined ? {} : { [name]: instant };
};
