import type { QueryOf } from '../../api/client.ts';
import type { Filters } from '../../app/address.ts';
import { choicesOf, choiceWords } from './choices.ts';
import { instantsOf } from './ranges.ts';

/** Filters that can be turned round: with `not_` before its name, each selects all but its value. */
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

/** Every filter of request logs that is typed or chosen, as the API and the address call it, and as people do. */
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

/** The same filter the other way round; undefined: it has no other way. */
export function turnedRound(name: string): string | undefined {
  if (name.startsWith(turned)) return straight(name);
  return Object.hasOwn(turnableNames, name) ? `${turned}${name}` : undefined;
}

/** Without `not_`. */
export const straight = (name: string): string =>
  name.startsWith(turned) ? name.slice(turned.length) : name;

/** What every filter is called where it is in force. */
export const chipTitles: Readonly<Record<string, string>> = {
  ...requestFilterNames,
  ...Object.fromEntries(
    Object.entries(turnableNames).map(([name, title]) => [`${turned}${name}`, `${title} is not`]),
  ),
};

export type FilterName = keyof typeof requestFilterNames;

const isFilterName = (name: string): boolean => Object.hasOwn(chipTitles, name);

/** Those filters of the address that select requests; the time is one of them. */
export const requestFilters = (filters: Filters): Filters =>
  Object.fromEntries(
    Object.entries(filters).filter(([name]) => isFilterName(name) || ['range', 'from', 'to'].includes(name)),
  );

type Query = QueryOf<'/api/v1/admin/observability/request-logs'>;

/** What the API is asked for: half a tag not yet. `now` in milliseconds since the epoch. */
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

/** No number is 0, which no filter takes: the API says so, and names the field. */
const numberOf = (text: string): number => (/^\d{1,9}$/.test(text) ? Number(text) : 0);
