import * as t from 'io-ts';
import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik';
import type { Person } from '../../application/ports/admin-access.ts';
import type { Deactivated } from '../../application/ports/owners.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import { row } from './pool.ts';

const effectsRow = t.type({ keys_refused: t.number, has_budget: t.boolean });

/** Columns that all owners have. */
export const ownerFields = {
  name: t.string,
  active: t.boolean,
  from_config: t.boolean,
  version: t.number,
};

/** The owner of a row, which names a person or a team. */
export const ownerIn = ({
  user_id,
  team_id,
}: Readonly<Record<'user_id' | 'team_id', string | null>>): Owner =>
  user_id === null ? { kind: 'team', teamId: team_id ?? '' } : { kind: 'user', userId: user_id };

export const role = t.keyof({ user: null, platform_admin: null });

/** Columns of a person who uses the admin API. */
export const personFields = { user_id: t.string, email: t.string, name: t.string, role };
const personRow = t.type(personFields);

export const personIn = ({ user_id, email, name, role: is }: t.TypeOf<typeof personRow>): Person => ({
  userId: user_id,
  email,
  name,
  role: is,
});

/** The access that ended for good when an owner was deactivated. */
export type EndedAccess = Pick<Deactivated, 'sessionsEnded' | 'tokensRevoked'>;

/** For owners that nobody logs in as. */
export const noAccess: EndedAccess = { sessionsEnded: 0, tokensRevoked: 0 };

/** How many keys of `whose` are refused only because of their owner, and whether `budget` finds a budget. */
export async function deactivatedOwner(
  connection: CommonQueryMethods,
  whose: FragmentSqlToken,
  budget: FragmentSqlToken,
  ended: EndedAccess,
): Promise<Deactivated> {
  const found = await connection.one(sql.type(row(effectsRow))`
    select (select count(*)::integer from api_keys k
            where (${whose}) and k.revoked_at is null and (k.expires_at is null or k.expires_at > gateway_now())
           ) as keys_refused,
           exists (${budget}) as has_budget
  `);
  return { ...ended, keysRefused: found.keys_refused, hasBudget: found.has_budget };
}

/** A flag as a condition that an index on the rarer value can serve. */
export const activeIs = (column: FragmentSqlToken, active: boolean): FragmentSqlToken =>
  active ? column : sql.fragment`not ${column}`;

/** Asserts that a row that was just written is there. */
export function written<A>(found: A | undefined): A {
  if (found === undefined) throw new TypeError('a row that was just written is not there');
  return found;
}
