import { type FragmentSqlToken, sql } from 'slonik';
import type { RequestLogFilter } from '../../application/ports/request-logs.ts';
import type { BespokeTag } from '../../domain/request-log/caller-tags.ts';
import { afterwards, all, type ListCondition, beside, led } from './list-conditions.ts';
import type { TimeList } from './time-list.ts';

interface AskedOfLog extends ListCondition {
  /** The column of a tag's own row that holds the same. */
  readonly ofTag: FragmentSqlToken | undefined;
}

type Column = readonly [
  name: Exclude<keyof RequestLogFilter, 'tag' | 'from' | 'until'>,
  column: FragmentSqlToken,
  ofTag?: FragmentSqlToken,
];

/** Of all that is asked for the first leads: what few rows have comes first. A tag stands between the two lists. */
const who: readonly Column[] = [
  ['requestId', sql.fragment`l.request_id`],
  ['longRequestIdSha256', sql.fragment`long_request_id_sha256(l.request_id)`],
  ['apiKeyId', sql.fragment`l.api_key_id`],
  ['userId', sql.fragment`l.user_id`],
  ['serviceAccountId', sql.fragment`l.service_account_id`],
];
const what: readonly Column[] = [
  ['component', sql.fragment`l.caller_component`],
  ['service', sql.fragment`l.caller_service`],
  ['teamId', sql.fragment`l.team_id`],
  ['agentHarnessKey', sql.fragment`l.agent_harness_key`],
  ['providerKey', sql.fragment`l.provider_key`],
  ['env', sql.fragment`l.caller_env`],
  ['modelKey', sql.fragment`l.model_key`, sql.fragment`t.model_key`],
  ['statusCode', sql.fragment`l.status_code`, sql.fragment`t.status_code`],
];

/** Nearly every row has this status. */
const usualStatus = 200;

const ofLogs = { time: sql.fragment`l.occurred_at`, key: sql.fragment`l.request_log_id` };

/** How the rows of a filter are come by; its range of time is not looked at. */
export function listOf(filter: RequestLogFilter): TimeList {
  const { tag } = filter;
  const ofWho = asked(who, filter);
  const ofWhat = asked(what, filter);
  if (tag !== undefined && ofWho.length === 0) return listOfTag(tag, ofWhat);
  const { lead, others } = led([...ofWho, ...ofWhat]);
  const rest = [...others.map(besideLead), ...(tag === undefined ? [] : [hasTag(tag)])];
  const rows = sql.fragment`request_logs l where ${all(lead === undefined ? rest : [lead, ...rest])}`;
  return lead === undefined
    ? { ...ofLogs, by: 'time', rows }
    : { ...ofLogs, by: 'bucket', bucket: sql.fragment`l.list_bucket`, counted: rows, rows };
}

/** Read by the tags' own rows, and together with the request logs' where those are asked for more. */
function listOfTag(tag: BespokeTag, others: readonly AskedOfLog[]): TimeList {
  const ofTag = others.flatMap((each) => (each.ofTag === undefined ? [] : [beside(each.ofTag, each.value)]));
  const ofLog = others.filter((each) => each.ofTag === undefined).map((each) => afterwards(besideLead(each)));
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
    return value === undefined ? [] : [{ column, value, indexed: indexedAs(name, value), ofTag }];
  });

function indexedAs(name: Column[0], value: string | number): ListCondition['indexed'] {
  if (name === 'requestId') return 'hash';
  return name === 'statusCode' && value === usualStatus ? 'nothing' : 'value';
}

const besideLead = ({ column, value }: ListCondition): FragmentSqlToken => beside(column, value);

const hasTag = ({ key, value }: BespokeTag): FragmentSqlToken => sql.fragment`
  exists (select from request_log_tags t
          where t.request_log_id = l.request_log_id and t.ownership_scope_key = l.ownership_scope_key
            and ${afterwards(sql.fragment`t.tag_key = ${key} and t.tag_value = ${value}`)})
`;
