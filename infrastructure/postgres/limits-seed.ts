import * as t from 'io-ts';
import { type DatabaseTransactionConnection, sql } from 'slonik';
import type { Seed } from '../../application/ports/seed.ts';
import type { LimitTerms } from '../../domain/limits/rate-limit.ts';
import type { SubjectKind } from '../../domain/shared/rate-limit-names.ts';
import { row } from './pool.ts';
import { storedJson } from './stored-text.ts';

interface Limited {
  readonly kind: SubjectKind;
  /** As the file names it: an email address, an id, or the public id of a key. */
  readonly name: string;
  readonly limits?: LimitTerms | undefined;
}

/**
 * Makes the rate limits of the database match the file: the file overrides what an admin has set for the same subject,
 * and limits that only an earlier file had are removed. Every limit gets the window row that its requests lock.
 */
export async function reconcileLimits(connection: DatabaseTransactionConnection, seed: Seed): Promise<void> {
  // Resolved first and written afterwards: on Citus, users and keys are on every node, but limits are on one.
  const found = await connection.anyFirst(sql.type(row(t.type({ wanted: t.string })))`
    select json_build_object(
      'kind', w.kind, 'id', coalesce(k.api_key_id::text, u.user_id::text, w.name), 'requests', w.requests,
      'tokens', w.tokens, 'in_flight', w.in_flight)::text as wanted
    from json_to_recordset(${storedJson(limitedIn(seed).flatMap(limitRow))}::json)
      w(kind text, name text, requests bigint, tokens bigint, in_flight bigint)
    left join api_keys k on w.kind = 'api_key' and k.public_id = w.name
    left join users u on w.kind = 'user' and u.email_folded = lower(w.name)
  `);
  const wanted = sql.fragment`
    select w.* from unnest(${sql.array(found, 'text')}) one
    cross join lateral json_to_record(one::json)
      w(kind text, id text, requests bigint, tokens bigint, in_flight bigint)
  `;
  await connection.query(sql.unsafe`
    delete from rate_limits l
    where l.from_config
      and not exists (select 1 from (${wanted}) w where w.kind = l.subject_kind and w.id = l.subject_id)
  `);
  await connection.query(sql.unsafe`
    insert into rate_limits as l (subject_kind, subject_id, requests_per_minute, tokens_per_minute,
                                  requests_in_flight, from_config)
    select w.kind, w.id, w.requests, w.tokens, w.in_flight, true from (${wanted}) w
    on conflict on constraint rate_limits_pkey do update
      set requests_per_minute = excluded.requests_per_minute, tokens_per_minute = excluded.tokens_per_minute,
          requests_in_flight = excluded.requests_in_flight, from_config = true, version = l.version + 1,
          updated_at = now()
    where (l.requests_per_minute, l.tokens_per_minute, l.requests_in_flight, l.from_config)
      is distinct from (excluded.requests_per_minute, excluded.tokens_per_minute, excluded.requests_in_flight, true)
  `);
  await connection.query(sql.unsafe`
    insert into rate_limit_windows (subject)
    select l.subject from rate_limits l
    where not exists (select 1 from rate_limit_windows w where w.subject = l.subject)
  `);
}

const limitedIn = (seed: Seed): readonly Limited[] => [
  ...seed.models.map(({ id, limits }): Limited => ({ kind: 'model', name: id, limits })),
  ...seed.teams.map(({ id, limits }): Limited => ({ kind: 'team', name: id, limits })),
  ...seed.users.map(({ email, limits }): Limited => ({ kind: 'user', name: email, limits })),
  ...seed.apiKeys.map(({ publicId, limits }): Limited => ({ kind: 'api_key', name: publicId, limits })),
];

const limitRow = ({ kind, name, limits }: Limited): readonly object[] =>
  limits === undefined
    ? []
    : [{ kind, name, requests: limits.requests, tokens: limits.tokens, in_flight: limits.inFlight }];
