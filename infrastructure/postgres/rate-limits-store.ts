import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import {
  type CommonQueryMethods,
  type DatabasePool,
  type DatabaseTransactionConnection,
  type FragmentSqlToken,
  sql,
} from 'slonik';
import type { SubjectKind } from '../../domain/shared/rate-limit-names.ts';
import type { LimitChange, RateLimits, StoredLimit } from '../../application/ports/rate-limits.ts';
import type { AdminAction } from '../../domain/identity/admin-event.ts';
import {
  type LimitSubject,
  type LimitTerms,
  minuteOf,
  standingAt,
  subjectKey,
} from '../../domain/limits/rate-limit.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { recordChange } from './admin-events-store.ts';
import { timestamp, nullable } from './codecs.ts';
import { written } from './owner-rows.ts';
import { lockOwners } from './owners-lock.ts';
import { row } from './pool.ts';
import { limitColumns, limitJson, rateLimitOf } from './rate-limit-rows.ts';
import { countOf } from './time-list.ts';

/** Rate limits as admins see them. Changes are serialised, with each other and with the reconciliation of the file. */
export const rateLimitsStore = (pool: DatabasePool): RateLimits => ({
  page: async (kind, { page, pageSize }) => {
    const ofKind = kind === undefined ? sql.fragment`true` : sql.fragment`l.subject_kind = ${kind}`;
    const rows = sql.fragment`rate_limits l where ${ofKind}`;
    const [items, total] = await Promise.all([
      limits(
        pool,
        sql.fragment`
          select l.* from ${rows} order by l.subject limit ${pageSize} offset ${(page - 1) * pageSize}`,
      ),
      countOf(pool, rows),
    ]);
    return { items, ...total };
  },
  set: (change, terms) =>
    pool.transaction(async (connection) => {
      await lockOwners(connection);
      const before = await present(connection, change.subject);
      if (!(await isActive(connection, change.subject))) return E.left({ kind: 'unknown_subject' });
      if (isOther(before, change)) return E.left({ kind: 'conflict', present: before });
      if (before !== undefined && isSame(before, terms)) return E.right(before);
      await write(connection, change.subject, terms);
      const after = written(await present(connection, change.subject));
      await leaveEvent(connection, 'rate_limit.set', change, before, after);
      return E.right(after);
    }),
  remove: (change) =>
    pool.transaction(async (connection) => {
      await lockOwners(connection);
      const before = await present(connection, change.subject);
      if (before === undefined && !(await exists(connection, change.subject)))
        return E.left({ kind: 'unknown_subject' });
      if (isOther(before, change)) return E.left({ kind: 'conflict', present: before });
      if (before === undefined) return E.right({ deleted: false });
      await connection.query(
        sql.unsafe`delete from rate_limits l where l.subject = ${subjectKey(change.subject)}`,
      );
      await leaveEvent(connection, 'rate_limit.delete', change, before, undefined);
      return E.right({ deleted: true });
    }),
});

const isOther = (present: StoredLimit | undefined, { version }: LimitChange): boolean =>
  version !== undefined && version !== present?.version;

const isSame = ({ standing: { limit } }: StoredLimit, terms: LimitTerms): boolean =>
  limit.terms.requests === terms.requests &&
  limit.terms.tokens === terms.tokens &&
  limit.terms.inFlight === terms.inFlight;

async function write(
  connection: DatabaseTransactionConnection,
  { kind, id }: LimitSubject,
  { requests, tokens, inFlight }: LimitTerms,
): Promise<void> {
  await connection.query(sql.unsafe`
    insert into rate_limits as l (subject_kind, subject_id, requests_per_minute, tokens_per_minute, requests_in_flight)
    values (${kind}, ${id}, ${requests ?? null}, ${tokens ?? null}, ${inFlight ?? null})
    on conflict on constraint rate_limits_pkey do update
      set requests_per_minute = excluded.requests_per_minute, tokens_per_minute = excluded.tokens_per_minute,
          requests_in_flight = excluded.requests_in_flight, version = l.version + 1, updated_at = now()
  `);
  await connection.query(sql.unsafe`
    insert into rate_limit_windows (subject) values (${subjectKey({ kind, id })}) on conflict do nothing
  `);
}

const leaveEvent = (
  connection: DatabaseTransactionConnection,
  action: AdminAction,
  { subject, actor }: LimitChange,
  before: StoredLimit | undefined,
  after: StoredLimit | undefined,
): Promise<void> =>
  recordChange(connection, actor, {
    action,
    targetKind: subject.kind,
    targetId: subject.id,
    before: limitEventJson(before),
    after: limitEventJson(after),
  });

function limitEventJson(limit: StoredLimit | undefined): JsonObject | undefined {
  if (limit === undefined) return undefined;
  const { standing, fromConfig, version } = limit;
  const { requests, tokens, inFlight } = standing.limit.terms;
  return {
    requests_per_minute: requests ?? null,
    tokens_per_minute: tokens ?? null,
    requests_in_flight: inFlight ?? null,
    from_config: fromConfig,
    version,
  };
}

/** The query that finds each kind of subject, its name, and whether it may be used. */
const subjectOf: Readonly<Record<SubjectKind, (id: FragmentSqlToken) => FragmentSqlToken>> = {
  api_key: (id) => sql.fragment`
    select k.name, k.revoked_at is null as active from api_keys k where k.api_key_id = ${id}::uuid`,
  user: (id) => sql.fragment`select u.name, u.active from users u where u.user_id = ${id}::uuid`,
  team: (id) => sql.fragment`select m.name, m.active from teams m where m.team_id = ${id}`,
  model: (id) => sql.fragment`
    select m.model_key as name, m.enabled as active from models m where m.model_key = ${id}`,
};

const exists = (connection: CommonQueryMethods, { kind, id }: LimitSubject): Promise<boolean> =>
  connection.exists(sql.unsafe`${subjectOf[kind](sql.fragment`${id}`)}`);

const isActive = (connection: CommonQueryMethods, { kind, id }: LimitSubject): Promise<boolean> =>
  connection.exists(sql.unsafe`select 1 from (${subjectOf[kind](sql.fragment`${id}`)}) s where s.active`);

const ownId = sql.fragment`l.subject_id`;

const limitRow = t.type({
  terms: t.intersection([limitColumns, limitJson]),
  name: nullable(t.string),
  from_config: t.boolean,
  version: t.number,
  updated_at: timestamp,
  database_time: timestamp,
  window_start: timestamp,
  requests: t.number,
  tokens: t.number,
  in_flight: t.number,
});

const present = async (
  connection: CommonQueryMethods,
  subject: LimitSubject,
): Promise<StoredLimit | undefined> => {
  const which = sql.fragment`select l.* from rate_limits l where l.subject = ${subjectKey(subject)}`;
  const [found] = await limits(connection, which);
  return found;
};

/** Limits with their current use. A window that was never used begins with the current minute. */
async function limits(
  connection: CommonQueryMethods,
  which: FragmentSqlToken,
): Promise<readonly StoredLimit[]> {
  const rows = await connection.any(sql.type(row(limitRow))`
    select to_json(l) as terms,
           case l.subject_kind
             when 'api_key' then (select s.name from (${subjectOf.api_key(ownId)}) s)
             when 'user' then (select s.name from (${subjectOf.user(ownId)}) s)
             when 'team' then (select s.name from (${subjectOf.team(ownId)}) s)
             when 'model' then (select s.name from (${subjectOf.model(ownId)}) s) end as name,
           l.from_config, l.version, l.updated_at, clock.now as database_time,
           greatest(w.window_start, '1970-01-01T00:00:00Z') as window_start,
           coalesce(w.requests, 0)::float8 as requests, coalesce(w.tokens, 0)::float8 as tokens,
           (select count(*)::integer from rate_limit_holds h
            where h.subject = l.subject and h.expires_at > clock.now) as in_flight
    from (${which}) l
    left join rate_limit_windows w on w.subject = l.subject
    cross join (select gateway_now() as now) clock
    order by l.subject
  `);
  return rows.map(storedLimit);
}

const storedLimit = (found: t.TypeOf<typeof limitRow>): StoredLimit => ({
  standing: standingAt(
    {
      limit: rateLimitOf(found.terms),
      window: minuteOf(found.window_start),
      requests: found.requests,
      tokens: found.tokens,
      inFlight: found.in_flight,
    },
    found.database_time,
  ),
  name: found.name ?? undefined,
  fromConfig: found.from_config,
  version: found.version,
  updatedAt: found.updated_at,
});
