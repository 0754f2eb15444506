import { timingSafeEqual } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type { Accounts } from '../../application/ports/accounts.ts';
import type { PresentedKey } from '../../domain/identity/api-key.ts';
import type { Caller, KeyOwner } from '../../domain/identity/caller.ts';
import { type CodedError, storeUnavailable } from '../../domain/shared/gateway-error.ts';
import { secretDigest } from '../key-secrets.ts';
import { bytes, int8, nullable } from './codecs.ts';
import { Collector } from './collector.ts';
import { row } from './pool.ts';
import { withinTime } from './within-time.ts';
import { limitJson, rateLimitOf } from './rate-limit-rows.ts';
import { storedJson } from './stored-text.ts';

/** Keys kept in memory: more than any deployment uses at once, about 1 KB each. */
const maxCachedKeys = 50_000;

export interface CachedAccounts extends Accounts {
  /** Drops all cached keys. Called when the database's revision has moved. */
  readonly forget: () => void;
}

/** The digest of a secret and its expiry: an instant of `performance.now()`, whatever the machine's clock says. */
interface KnownSecret {
  readonly sha256: Buffer;
  readonly endsAt: number;
}

interface KnownKey {
  readonly secret: KnownSecret;
  /** The secret before the last rotation. */
  readonly previous: KnownSecret | undefined;
  readonly caller: Caller;
}

/**
 * Keys by their public id. A recently seen key needs no query. The cache is dropped whenever identity changes anywhere,
 * and it is not used while it is unknown whether identity has changed (`isFresh`).
 */
export function accountsStore(
  pool: DatabasePool,
  isFresh: () => boolean,
  onFault: (error: unknown) => void,
): CachedAccounts {
  let known = new Map<string, KnownKey>();
  let lastReported: unknown;
  const lookups = new Collector<string, { readonly key: KnownKey | undefined }>({
    run: (publicIds) => findKeys(pool, publicIds),
    lane: () => undefined,
    size: (publicId) => publicId.length,
  });

  const lookUp = async (publicId: string): Promise<KnownKey | undefined> => {
    const cache = known;
    const { key } = await lookups.add(publicId);
    if (cache.size >= maxCachedKeys) cache.clear();
    if (key !== undefined) cache.set(publicId, key);
    return key;
  };

  return {
    forget: () => {
      known = new Map();
    },
    authenticate: async (presented) => {
      const cached = isFresh() ? known.get(presented.publicId) : undefined;
      if (cached !== undefined) return verified(cached, presented);
      try {
        return verified(await lookUp(presented.publicId), presented);
      } catch (error) {
        // Everybody who waits for one statement is rejected with the same error, which is reported once.
        if (error !== lastReported) onFault(error);
        lastReported = error;
        return E.left(storeUnavailable());
      }
    },
  };
}

/** Compares in constant time; an unknown, a wrong and an expired key give the same answer. */
function verified(
  known: KnownKey | undefined,
  { secret }: PresentedKey,
): Either<CodedError<'invalid_api_key'>, Caller> {
  const given = secretDigest(secret);
  const now = performance.now();
  const isOf = ({ sha256, endsAt }: KnownSecret): boolean => timingSafeEqual(given, sha256) && now < endsAt;
  const isPresent = isOf(known?.secret ?? nobodys);
  const isPrevious = isOf(known?.previous ?? nobodys);
  return known !== undefined && (isPresent || isPrevious)
    ? E.right(known.caller)
    : E.left({ code: 'invalid_api_key', message: 'This API key is not valid, or it was revoked.' });
}

/** No secret has this digest. It is compared anyway, so that the response time reveals nothing. */
const nobodys: KnownSecret = { sha256: Buffer.alloc(32), endsAt: Number.NEGATIVE_INFINITY };

const keyRow = t.type({
  public_id: t.string,
  secret_sha256: bytes,
  ends_in_ms: nullable(int8),
  previous_secret_sha256: nullable(bytes),
  previous_ends_in_ms: nullable(int8),
  api_key_id: t.string,
  allowed_models: t.array(t.string),
  user_id: nullable(t.string),
  email: nullable(t.string),
  member_of: nullable(t.array(t.string)),
  request_logging_enabled: nullable(t.boolean),
  team_id: nullable(t.string),
  service_account_id: nullable(t.string),
  limits: nullable(t.array(limitJson)),
});

const msUntil = (instant: FragmentSqlToken): FragmentSqlToken =>
  sql.fragment`(extract(epoch from ${instant} - gateway_now()) * 1000)::bigint`;

/** Returns only usable keys: not revoked, and with an active owner (and an active team of the owner). */
async function findKeys(pool: DatabasePool, publicIds: readonly string[]) {
  const askedAt = performance.now();
  const statement = sql.type(row(keyRow))`
    select k.public_id, k.secret_sha256, ${msUntil(sql.fragment`k.expires_at`)} as ends_in_ms,
           k.previous_secret_sha256,
           ${msUntil(sql.fragment`least(k.previous_expires_at, k.expires_at)`)} as previous_ends_in_ms,
           k.api_key_id, k.allowed_models, k.user_id, u.request_logging_enabled, tm.team_id, k.service_account_id,
           u.email_folded as email,
           (select array_agg(m.team_id) from team_memberships m join teams t on t.team_id = m.team_id and t.active
            where m.user_id = k.user_id) as member_of,
           (select json_agg(l) from rate_limits l
            where l.subject in ('api_key:' || k.api_key_id, 'user:' || k.user_id, 'team:' || tm.team_id)) as limits
    from json_array_elements_text(${storedJson(publicIds)}::json) wanted(public_id)
    join api_keys k on k.public_id = wanted.public_id and k.revoked_at is null
    left join users u on u.user_id = k.user_id
    left join service_accounts sa on sa.service_account_id = k.service_account_id
    left join teams tm on tm.team_id = coalesce(k.team_id, sa.team_id)
    where coalesce(u.active, tm.active) and coalesce(sa.active, true)
  `;
  const rows = await withinTime(pool, (connection) => connection.any(statement));
  const found = new Map(rows.map((each) => [each.public_id, knownKey(each, askedAt)]));
  return publicIds.map((publicId) => ({ key: found.get(publicId) }));
}

const msOf = (ms: bigint | null): number => (ms === null ? Number.POSITIVE_INFINITY : Number(ms));

const knownKey = (found: t.TypeOf<typeof keyRow>, askedAt: number): KnownKey => ({
  secret: { sha256: found.secret_sha256, endsAt: askedAt + msOf(found.ends_in_ms) },
  previous:
    found.previous_secret_sha256 === null || found.previous_ends_in_ms === null
      ? undefined
      : { sha256: found.previous_secret_sha256, endsAt: askedAt + msOf(found.previous_ends_in_ms) },
  caller: {
    apiKeyId: found.api_key_id,
    keyOwner: keyOwner(found),
    allowedModels: found.allowed_models,
    ...(found.email === null ? {} : { person: { email: found.email, teamIds: found.member_of ?? [] } }),
    ...(found.limits === null ? {} : { limits: found.limits.map(rateLimitOf) }),
  },
});

function keyOwner(found: t.TypeOf<typeof keyRow>): KeyOwner {
  const { user_id, team_id, service_account_id } = found;
  if (user_id !== null)
    return { kind: 'user', userId: user_id, requestLoggingEnabled: found.request_logging_enabled === true };
  if (team_id === null) throw new TypeError('a key without an owner');
  return service_account_id === null
    ? { kind: 'team', teamId: team_id }
    : { kind: 'service_account', serviceAccountId: service_account_id, teamId: team_id };
}
