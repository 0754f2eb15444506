import { type FragmentSqlToken, sql } from 'slonik';
import type { RequestLogExcept, RequestLogFilter } from '../../application/ports/request-logs.ts';
import type { BespokeTag } from '../../domain/request-log/caller-tags.ts';
import { clientClosed } from '../../domain/shared/request-failure.ts';
import { all, asRange, hasFailed, leading, type ListCondition, unindexed } from './list-conditions.ts';
import type { TimeList } from './time-list.ts';

/** A condition that does not lead. */
interface Further {
  readonly column: FragmentSqlToken;
  /** The column of `request_log_tags` with the same content; `undefined` if there is none. */
  readonly ofTag: FragmentSqlToken | undefined;
  readonly holds: (column: FragmentSqlToken) => FragmentSqlToken;
}

type AskedOfLog = ListCondition & Further;

type Column = readonly [
  name: Exclude<
    keyof RequestLogFilter,
    'failed' | 'ownerKind' | 'inLedger' | 'pricingStatus' | 'tag' | 'except' | 'from' | 'until'
  >,
  column: FragmentSqlToken,
  ofTag?: FragmentSqlToken,
];

/**
 * The columns that a filter may name, the most selective first: the first one asked for leads. A tag leads after all of
 * `who`, and before all of `what`.
 */
const who: readonly Column[] = [
  ['requestId', sql.fragment`l.request_id`],
  ['longRequestIdSha256', sql.fragment`long_request_id_sha256(l.request_id)`],
  ['apiKeyId', sql.fragment`l.api_key_id`],
  ['userId', sql.fragment`l.user_id`],
  ['serviceAccountId', sql.fragment`l.service_account_id`],
];
const status = { column: sql.fragment`l.status_code`, ofTag: sql.fragment`t.status_code` };
const what: readonly Column[] = [
  ['component', sql.fragment`l.caller_component`],
  ['service', sql.fragment`l.caller_service`],
  ['teamId', sql.fragment`l.team_id`],
  ['agentHarnessKey', sql.fragment`l.agent_harness_key`],
  ['providerKey', sql.fragment`l.provider_key`],
  ['env', sql.fragment`l.caller_env`],
  ['modelKey', sql.fragment`l.model_key`, sql.fragment`t.model_key`],
  ['statusCode', status.column, status.ofTag],
  ['errorCode', sql.fragment`l.error_code`],
];

/** Nearly every row has this status, so `request_logs_status_code_idx` leaves it out. */
const usualStatus = 200;

/** Spelled like the condition of `request_logs_failed_idx`. */
const leadingFailed = sql.fragment`(${hasFailed(status.column)}) is true`;

const ofLogs = { time: sql.fragment`l.occurred_at`, key: sql.fragment`l.request_log_id` };

/** The index by which the rows of a filter are read. The time range of the filter is not included: `pageOf` adds it. */
export function listOf(filter: RequestLogFilter): TimeList {
  const { tag } = filter;
  const ofWho = asked(who, filter);
  const ofWhat = asked(what, filter);
  const further = [
    ...ofFailed(filter.failed),
    ...ofOwnerKind(filter.ownerKind),
    ...ofCharge(filter),
    ...ofExcept(filter.except),
  ];
  if (tag !== undefined && ofWho.length === 0) return listOfTag(tag, [...ofWhat, ...further]);
  const { lead: equality, others } = leading([...ofWho, ...ofWhat]);
  const lead = equality ?? (areAllFailed(filter) ? leadingFailed : undefined);
  const rest = [
    ...[...others, ...further].map(({ column, holds }) => holds(column)),
    ...(tag === undefined ? [] : [hasTag(tag)]),
  ];
  const rows = sql.fragment`request_logs l where ${all(lead === undefined ? rest : [lead, ...rest])}`;
  return lead === undefined
    ? { ...ofLogs, by: 'time', rows }
    : { ...ofLogs, by: 'bucket', bucket: sql.fragment`l.list_bucket`, counted: rows, rows };
}

/** Whether a filter selects only requests that failed, as each code has except that of a client disconnect. */
const areAllFailed = ({ failed, errorCode }: RequestLogFilter): boolean =>
  failed === true || (errorCode !== undefined && errorCode !== clientClosed.code);

/**
 * A list read by `request_log_tags_pair_idx`. That index also holds the status and the model; other conditions are
 * checked in the request log of each tag, which is found by its primary key.
 */
function listOfTag(tag: BespokeTag, others: readonly Further[]): TimeList {
  const ofTag = others.flatMap((each) => (each.ofTag === undefined ? [] : [each.holds(each.ofTag)]));
  const ofLog = others
    .filter((each) => each.ofTag === undefined)
    .map(({ column, holds }) => unindexed(holds(column)));
  const tagged = all([sql.fragment`t.tag_key = ${tag.key} and t.tag_value = ${tag.value}`, ...ofTag]);
  const rows = sql.fragment`
    request_log_tags t
    join request_logs l on l.request_log_id = t.request_log_id and l.ownership_scope_key = t.ownership_scope_key
    where ${all([tagged, ...ofLog])}
  `;
  const counted = ofLog.length === 0 ? sql.fragment`request_log_tags t where ${tagged}` : rows;
  return { ...ofLogs, by: 'bucket', bucket: sql.fragment`t.list_bucket`, counted, rows };
}

const asked = (columns: readonly Column[], filter: RequestLogFilter): readonly AskedOfLog[] =>
  columns.flatMap(([name, column, ofTag]) => {
    const value = filter[name];
    if (value === undefined) return [];
    const holds = (of: FragmentSqlToken): FragmentSqlToken => asRange(of, value);
    return [{ column, value, indexed: indexedAs(name, value), ofTag, holds }];
  });

/** Exclusions never lead, because nearly every row meets them. */
const ofExcept = (except: RequestLogExcept = {}): readonly Further[] =>
  asked([...who, ...what], except).map(({ column, ofTag, value }) => ({
    column,
    ofTag,
    holds: (of) => sql.fragment`${of} is distinct from ${value}`,
  }));

function ofFailed(failed: boolean | undefined): readonly Further[] {
  if (failed === undefined) return [];
  return [{ ...status, holds: failed ? hasFailed : (of) => sql.fragment`not (${hasFailed(of)})` }];
}

/** Distinguishes owners as the spend reports do. */
const ownerKinds = {
  user: sql.fragment`l.user_id is not null`,
  team: sql.fragment`l.user_id is null and l.team_id is not null`,
};

const ofOwnerKind = (kind: RequestLogFilter['ownerKind']): readonly Further[] =>
  kind === undefined
    ? []
    : [{ column: sql.fragment`l.user_id`, ofTag: undefined, holds: () => ownerKinds[kind] }];

function ofCharge({ inLedger, pricingStatus }: RequestLogFilter): readonly Further[] {
  const asked: Further['holds'][] = [];
  if (inLedger !== undefined) asked.push(inLedger ? hasCharge : (id) => sql.fragment`not ${hasCharge(id)}`);
  if (pricingStatus !== undefined)
    asked.push((id) => hasCharge(id, sql.fragment`and e.pricing_status = ${pricingStatus}`));
  return asked.map((holds) => ({ column: ofLogs.key, ofTag: undefined, holds }));
}

/** Whether the ledger has a row of a log, found by its primary key, and meeting a further condition if there is one. */
const hasCharge = (id: FragmentSqlToken, more = sql.fragment``): FragmentSqlToken => sql.fragment`
  exists (select 1 from usage_cost_events e
          where e.request_log_id = ${id} and e.ownership_scope_key = l.ownership_scope_key ${more})
`;

function indexedAs(name: Column[0], value: string | number): ListCondition['indexed'] {
  if (name === 'requestId') return 'hash';
  return name === 'errorCode' || (name === 'statusCode' && value === usualStatus) ? 'nothing' : 'value';
}

const hasTag = ({ key, value }: BespokeTag): FragmentSqlToken => sql.fragment`
  exists (select 1 from request_log_tags t
          where t.request_log_id = l.request_log_id and t.ownership_scope_key = l.ownership_scope_key
            and ${unindexed(sql.fragment`t.tag_key = ${key} and t.tag_value = ${value}`)})
`;
