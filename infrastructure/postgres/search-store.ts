import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import { type Hit, type HitKind, maxHits, type Search } from '../../application/ports/search.ts';
import { nullable } from './codecs.ts';
import { isUuid } from './instants.ts';
import { holds } from './object-list.ts';
import { row } from './pool.ts';
import { readList } from './time-list.ts';

/**
 * One statement for each kind. An id or a key's prefix is found by its index; parts of names are searched in the index
 * of the list, which holds them in lower case, newest first. Names of people and of keys are the most rows to scan, so
 * the two are scanned concurrently.
 */
export const searchStore = (pool: DatabasePool): Search => ({
  find: async (text) => {
    const halves = await Promise.all(
      [ofOthers, ofKeys].map((kinds) =>
        readList(pool, async (connection) => {
          const hits: Hit[] = [];
          for (const kind of kinds) hits.push(...(await found(connection, kind, statements[kind](text))));
          return hits;
        }),
      ),
    );
    return halves.flat();
  },
});

/** The kinds of objects that are stored in tables. */
type StoredKind = Exclude<HitKind, 'mcp_server'>;

const ofOthers: readonly StoredKind[] = [
  'user',
  'team',
  'service_account',
  'model',
  'provider',
  'request_log',
];
const ofKeys: readonly StoredKind[] = ['api_key'];

const hitRow = t.type({ id: t.string, title: t.string, detail: nullable(t.string) });

async function found(
  connection: CommonQueryMethods,
  kind: StoredKind,
  statement: FragmentSqlToken,
): Promise<readonly Hit[]> {
  const rows = await connection.any(sql.type(row(hitRow))`${statement}`);
  return rows.map(({ id, title, detail }) => ({ kind, id, title, detail: detail ?? undefined }));
}

/** Null for a text that is not a UUID, so that no row matches. */
const uuidOf = (text: string): string | null => (isUuid(text) ? text : null);

/** A whole id or a key's prefix is never part of a name, so only indexes are searched for it. */
const hasPart = (folded: FragmentSqlToken, text: string): FragmentSqlToken =>
  isUuid(text) || text.startsWith('gwk_') ? sql.fragment`false` : holds(folded, text);

/**
 * The public id, or the beginning of one, that a text is; empty for any other text. A whole key is searched by its
 * public id only: the part after the dot is its secret, which no index has.
 */
function publicIdOf(text: string): string {
  const [, ofKey, alone] = /^(?:gwk_([\w-]*)(?:\.\S*)?|([\w-]+))$/.exec(text) ?? [];
  return ofKey ?? alone ?? '';
}

/** Each row once: rows that the text names come before rows whose names contain it, newest first. */
const namedBeforeHolding = (id: FragmentSqlToken): FragmentSqlToken => sql.fragment`
  select ${id}, min(first) as first, created_at
  from (select *, 0 as first from named union all select *, 1 from holding) each group by ${id}, created_at
  order by first, created_at desc, ${id} desc limit ${maxHits}
`;

const statements = {
  user: (text) => sql.fragment`
    with named as (
      select user_id, created_at from users where user_id = ${uuidOf(text)}::uuid or email_folded = lower(${text})
    ), holding as (
      select user_id, created_at from users
      where ${hasPart(sql.fragment`email_folded`, text)} or ${hasPart(sql.fragment`name_folded`, text)}
      order by created_at desc, user_id desc limit ${maxHits}
    ), ranked as (${namedBeforeHolding(sql.fragment`user_id`)})
    select u.user_id::text as id, u.name as title, u.email as detail
    from ranked r join users u on u.user_id = r.user_id order by r.first, r.created_at desc, r.user_id desc
  `,
  team: (text) => sql.fragment`
    select team_id as id, name as title, null as detail from teams
    where ${holds(sql.fragment`lower(team_id)`, text)} or ${holds(sql.fragment`lower(name)`, text)}
    order by team_id <> ${text}, created_at desc, team_id desc limit ${maxHits}
  `,
  service_account: (text) => sql.fragment`
    select service_account_id as id, name as title, team_id as detail from service_accounts
    where ${holds(sql.fragment`lower(service_account_id)`, text)} or ${holds(sql.fragment`lower(name)`, text)}
    order by service_account_id <> ${text}, created_at desc, service_account_id desc limit ${maxHits}
  `,
  api_key: (text) => sql.fragment`
    with named as (
      select api_key_id, created_at from api_keys where api_key_id = ${uuidOf(text)}::uuid
      union all
      (select api_key_id, created_at from api_keys
       where public_id >= ${publicIdOf(text)} and starts_with(public_id, ${publicIdOf(text)}) and ${publicIdOf(text) !== ''}
       order by public_id limit ${maxHits})
    ), holding as (
      select api_key_id, created_at from api_keys where ${hasPart(sql.fragment`name_folded`, text)}
      order by created_at desc, api_key_id desc limit ${maxHits}
    ), ranked as (${namedBeforeHolding(sql.fragment`api_key_id`)})
    select k.api_key_id::text as id, k.name as title, k.public_id as detail
    from ranked r join api_keys k on k.api_key_id = r.api_key_id
    order by r.first, k.public_id <> ${publicIdOf(text)}, r.created_at desc, r.api_key_id desc
  `,
  model: (text) => sql.fragment`
    select model_key as id, model_key as title, null as detail from models
    where ${holds(sql.fragment`lower(model_key)`, text)} order by model_key <> ${text}, model_key limit ${maxHits}
  `,
  provider: (text) => sql.fragment`
    select provider_key as id, provider_key as title, kind as detail from providers
    where ${holds(sql.fragment`lower(provider_key)`, text)} order by provider_key <> ${text}, provider_key limit ${maxHits}
  `,
  request_log: (text) => sql.fragment`
    select request_log_id::text as id, request_id as title, model_key as detail from (
      (select request_log_id, request_id, model_key, occurred_at from request_logs
       where request_log_id = ${uuidOf(text)}::uuid limit ${maxHits})
      union
      (select request_log_id, request_id, model_key, occurred_at from request_logs
       where hashtextextended(request_id, 0) = hashtextextended(${text}, 0) and request_id = ${text}
       order by list_bucket desc limit ${maxHits})
    ) each order by occurred_at desc, request_log_id desc limit ${maxHits}
  `,
} as const satisfies Record<StoredKind, (text: string) => FragmentSqlToken>;
