import type { Filters } from '../../app/address.ts';
import { wordOf } from '../../app/words.ts';

/** The filters in the address that apply to the report and its chart. */
export const spendFilters = { days: 'Days', owner_kind: 'Owners' };

/** The same as a query of the API. An unknown word is rejected, as in the API. */
export const spendQuery = ({ days, owner_kind: kind }: Filters) => ({
  days: wordOf('days', ['7', '30'], days) ?? '7',
  owner_kind: wordOf('owner_kind', ['all', 'user', 'team'], kind) ?? 'all',
});

/** Filters for the list of requests, to show those of a report's owners. */
export const ofOwners = ({
  owner_kind: kind,
}: {
  readonly owner_kind?: string | undefined;
}): Readonly<Record<string, string>> => (kind === 'user' || kind === 'team' ? { owner_kind: kind } : {});

const dayMs = 86_400_000;

/** The last day of a window with an exclusive end. */
export const until = (windowEnd: string): string =>
  new Date(Date.parse(windowEnd) - 1).toISOString().slice(0, 10);

/** Filters for the list of requests, to show one UTC day. */
export const ofDay = (day: string): { readonly from: string; readonly to: string } => ({
  from: `${day}T00:00:00Z`,
  to: new Date(Date.parse(`${day}T00:00:00Z`) + dayMs).toISOString(),
});
