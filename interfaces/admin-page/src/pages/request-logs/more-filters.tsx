import { useAddress } from '../../app/address.ts';
import { ChoiceFilter, MoreFilters, TextFilter } from '../../ui/filters.tsx';
import { choiceWords } from './choices.ts';
import { type FilterName, requestFilterNames } from './request-filters.ts';
import type { LoggedRow } from './request-log.ts';

const shownAlways = ['request_id', 'model_key', 'provider_key', 'status_code', 'service', 'env'] as const;
const shownOnDemand = [
  'error_code',
  'component',
  'tag_key',
  'tag_value',
  'user_id',
  'team_id',
  'service_account_id',
  'api_key_id',
  'agent_harness_key',
  'request_id_sha256',
] as const;
/** These show their own faults. */
export const typedFilters: readonly string[] = [...shownAlways, ...shownOnDemand, 'from', 'to'];
const chosenOnDemand = ['pricing_status', 'in_ledger', 'owner_kind'] as const;
/** A client disconnect is no failure. The API makes this distinction as the overview does. */
const failedOrNot = [
  ['true', 'Failed'],
  ['false', 'Not failed'],
] as const;
const onDemand = [...shownOnDemand, ...chosenOnDemand];
/** Their chips show names. */
const takesId: ReadonlySet<FilterName> = new Set(['user_id', 'team_id', 'service_account_id', 'api_key_id']);
const wide: ReadonlySet<FilterName> = new Set(['request_id', 'user_id', 'api_key_id', 'request_id_sha256']);

/** Typed filters. Their suggestions are the values in the rows on the screen. */
export function RequestFilters({
  rows,
  error,
}: {
  readonly rows: readonly LoggedRow[];
  readonly error: Error | null;
}) {
  const { filters } = useAddress();
  const filter = (name: FilterName) => (
    <TextFilter
      key={name}
      name={name}
      label={takesId.has(name) ? `${requestFilterNames[name]} id` : requestFilterNames[name]}
      error={error}
      known={knownOf(name, rows)}
      isWide={wide.has(name)}
    />
  );
  const halfATag = (filters['tag_key'] === undefined) !== (filters['tag_value'] === undefined);
  return (
    <>
      {shownAlways.map(filter)}
      <ChoiceFilter name="failed" label={requestFilterNames.failed} options={failedOrNot} />
      <MoreFilters names={onDemand} error={error}>
        {shownOnDemand.map(filter)}
        {chosenOnDemand.map((name) => (
          <ChoiceFilter
            key={name}
            name={name}
            label={requestFilterNames[name]}
            options={Object.entries(choiceWords[name] ?? {})}
          />
        ))}
        {halfATag ? (
          <span className="muted" role="status">
            A tag is selected by its name and its value together.
          </span>
        ) : null}
      </MoreFilters>
    </>
  );
}

const maxKnown = 20;

function knownOf(name: FilterName, rows: readonly LoggedRow[]): readonly string[] {
  const read = readers[name];
  if (read === undefined) return [];
  const values = rows.map(read).filter((value): value is string => typeof value === 'string');
  return [...new Set(values)].sort().slice(0, maxKnown);
}

const readers: Readonly<Partial<Record<FilterName, (log: LoggedRow) => string | null>>> = {
  model_key: (log) => log.model_key,
  provider_key: (log) => log.provider_key,
  status_code: (log) => String(log.status_code),
  error_code: (log) => log.error_code,
  service: (log) => log.request_tags.service,
  component: (log) => log.request_tags.component,
  env: (log) => log.request_tags.env,
  team_id: (log) => log.team_id,
  service_account_id: (log) => log.service_account_id,
  agent_harness_key: (log) => log.agent_harness_key,
};
