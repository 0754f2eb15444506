import type { QueryOf } from '../../api/client.ts';
import type { Filters } from '../../app/address.ts';
import { choicesOf, choiceWords } from './choices.ts';
import { instantsOf } from './ranges.ts';

/** Filters that can be inverted: with the prefix `not_`, each selects everything except its value. */
const turnableNames = {
  model_key: 'Model',
  provider_key: 'Provider',
  status_code: 'Status',
  error_code: 'Error',
  user_id: 'Person',
  team_id: 'Team',
  service_account_id: 'Service account',
  api_key_id: 'Key',
  service: 'Service',
  component: 'Component',
  env: 'Environment',
  agent_harness_key: 'Harness',
} as const;

/** Every typed or chosen filter of request logs: the name in the API and the address, and the name for people. */
export const requestFilterNames = {
  ...turnableNames,
  request_id: 'Request id',
  request_id_sha256: 'SHA-256 of a long request id',
  failed: 'Failed',
  pricing_status: 'Pricing state',
  in_ledger: 'In the ledger',
  owner_kind: 'Owners',
  tag_key: 'Tag',
  tag_value: 'Tag value',
} as const;

const turned = 'not_';

/** The inverse of a filter; `undefined` when it has none. */
export function turnedRound(name: string): string | undefined {
  if (name.startsWith(turned)) return straight(name);
  return Object.hasOwn(turnableNames, name) ? `${turned}${name}` : undefined;
}

/** Without `not_`. */
export const straight = (name: string): string =>
  name.startsWith(turned) ? name.slice(turned.length) : name;

/** The title of every active filter. */
export const chipTitles: Readonly<Record<string, string>> = {
  ...requestFilterNames,
  ...Object.fromEntries(
    Object.entries(turnableNames).map(([name, title]) => [`${turned}${name}`, `${title} is not`]),
  ),
};

export type FilterName = keyof typeof requestFilterNames;

const isFilterName = (name: string): boolean => Object.hasOwn(chipTitles, name);

/** The filters of the address that select requests, including those of the time. */
export const requestFilters = (filters: Filters): Filters =>
  Object.fromEntries(
    Object.entries(filters).filter(([name]) => isFilterName(name) || ['range', 'from', 'to'].includes(name)),
  );

type Query = QueryOf<'/api/v1/admin/observability/request-logs'>;

/** The query of the API, without half a tag. `now` in milliseconds since the epoch. */
export function requestQuery(filters: Filters, now: number): Query {
  const { status_code: status, not_status_code: notStatus, tag_key: key, tag_value: value } = filters;
  return {
    ...textQuery(filters),
    ...choicesOf(filters),
    ...(status === undefined ? {} : { status_code: numberOf(status) }),
    ...(notStatus === undefined ? {} : { not_status_code: numberOf(notStatus) }),
    ...(key === undefined || value === undefined ? {} : { tag_key: key, tag_value: value }),
    ...instantsOf(filters, now),
  };
}

const others: ReadonlySet<string> = new Set([
  ...Object.keys(choiceWords),
  'status_code',
  'not_status_code',
  'tag_key',
  'tag_value',
]);

const textQuery = (
  filters: Filters,
): Omit<
  Query,
  'status_code' | 'not_status_code' | keyof ReturnType<typeof choicesOf> | 'page' | 'page_size'
> => Object.fromEntries(Object.entries(filters).filter(([name]) => isFilterName(name) && !others.has(name)));

/** Anything that is not a number becomes 0, which no filter accepts: the API then names the field in its error. */
const numberOf = (text: string): number => (/^\d{1,9}$/.test(text) ? Number(text) : 0);
