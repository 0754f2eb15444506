import { randomUUID } from 'node:crypto';
import type { Budgets } from '../../application/ports/budgets.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { Query } from './ledger-bench.ts';
import { anActor } from '../support/admin-actor.ts';

/** A row of `budget_alerts`, with money in picodollars. */
export interface AlertRow {
  readonly budget_id: string;
  readonly user_id: string | null;
  readonly team_id: string | null;
  readonly cadence: string;
  readonly amount_10000: string;
  readonly threshold_bps: number;
  readonly window_start: Date;
  readonly window_end: Date;
  readonly spend_before_picousd: string;
  readonly spend_after_picousd: string;
  readonly created_at: Date;
}

export interface DeliveryRow {
  readonly delivery_id: string;
  readonly recipient: string | null;
  readonly channel: string;
  readonly delivery_status: string;
  readonly failure_reason: string | null;
  readonly attempted_at: Date | null;
  readonly sent_at: Date | null;
}

export const ownerOfCaller = ({ keyOwner }: Caller): Owner =>
  keyOwner.kind === 'user'
    ? { kind: 'user', userId: keyOwner.userId }
    : { kind: 'team', teamId: keyOwner.teamId };

const idOf = (owner: Owner): string => (owner.kind === 'user' ? owner.userId : owner.teamId);

/** The alerts of an owner, oldest first. */
export const alertsOf = (query: Query, caller: Caller): Promise<AlertRow[]> =>
  query<AlertRow>(
    'select * from budget_alerts where $1 in (user_id::text, team_id) order by created_at, spend_after_picousd',
    [idOf(ownerOfCaller(caller))],
  );

/** Spend before and after each alert of an owner. */
export const spendsOf = async (
  query: Query,
  caller: Caller,
): Promise<readonly (readonly [bigint, bigint])[]> =>
  (await alertsOf(query, caller)).map((row) => [
    BigInt(row.spend_before_picousd),
    BigInt(row.spend_after_picousd),
  ]);

/** The deliveries of all alerts of an owner. */
export const deliveriesOf = (query: Query, caller: Caller): Promise<DeliveryRow[]> =>
  query<DeliveryRow>(
    `select d.* from budget_alert_deliveries d join budget_alerts a using (budget_alert_id, ownership_scope_key)
     where $1 in (a.user_id::text, a.team_id) order by d.recipient`,
    [idOf(ownerOfCaller(caller))],
  );

/** Creates a user who is a member of the team; returns the email address. */
export async function aMember(
  query: Query,
  team: Caller,
  role: 'owner' | 'admin' | 'member',
  active = true,
): Promise<string> {
  const email = `${role}-${randomUUID()}@example.com`;
  const owner = ownerOfCaller(team);
  await query(
    `with person as (insert into users (email, name, active) values ($1, 'P', $2) returning user_id)
     insert into team_memberships (team_id, user_id, role) select $3, user_id, $4 from person`,
    [email, active, idOf(owner), role],
  );
  return email;
}

/** Sets a budget of so many units of 1e-4 USD as an admin; returns its id. */
export async function putBudget(
  budgets: Budgets,
  caller: Caller,
  amount10000: bigint,
  over: { readonly cadence?: 'daily' | 'weekly' | 'monthly'; readonly hardLimit?: boolean } = {},
): Promise<string> {
  const terms = { cadence: 'daily', hardLimit: false, timezone: 'UTC', amount10000, ...over } as const;
  const found = await budgets.set(ownerOfCaller(caller), terms, anActor);
  if (found?.budget === undefined) throw new Error('the budget was not set');
  return found.budget.budgetId;
}
