import { expect, it } from '@jest/globals';
import { anActor } from '../support/admin-actor.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { aTeam, aUser, userIdOf, withClock } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);

/** Changes in order, by an admin or by the file; a change without terms removes the budget. */
const changes: readonly ['admin' | 'file', ...([string, number, boolean, string] | [])][] = [
  ['admin', 'daily', 5, true, 'UTC'],
  ['admin', 'daily', 5, true, 'UTC'],
  ['file', 'daily', 5, true, 'UTC'],
  ['admin', 'daily', 5, false, 'UTC'],
  ['file', 'weekly', 5, false, 'UTC'],
  ['file', 'weekly', 6, false, 'UTC'],
  ['admin', 'weekly', 6, false, 'Asia/Kathmandu'],
  ['admin'],
  ['file'],
  ['file', 'monthly', 7, true, 'UTC'],
  ['file'],
];

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Applies the changes to an owner's budget; returns whether each changed anything, the history, and the
 * events.
 */
async function afterChanges(owner: { readonly user?: string; readonly team?: string }) {
  const changed: unknown[] = [];
  for (const [index, [who, cadence, amount, hard, timezone]] of changes.entries()) {
    await clock.standAt(new Date(Date.UTC(2028, 0, 1, index)));
    const by = who === 'admin' ? [false, anActor.userId, anActor.address] : [true, null, null];
    const [row] = await query(
      'select gateway_set_budget($1, $2, $3, $4, $5, $6, $7, false, $8, $9) as changed',
      [
        owner.user ?? null,
        owner.team ?? null,
        cadence ?? null,
        amount ?? null,
        hard ?? null,
        timezone ?? null,
      ].concat(by),
    );
    changed.push(row?.['changed']);
  }
  const [kind, id] = owner.user === undefined ? ['team', owner.team] : ['user', owner.user];
  const history = await query<{ row: string }>(
    `select (to_jsonb(b) - '${kind}_id')::text as row from ${kind}_budgets b where ${kind}_id = $1 order by created_at`,
    [id],
  );
  const events = await query<{ row: string }>(
    `select (to_jsonb(e) - '{admin_event_id,target_kind,target_id}'::text[])::text as row from admin_events e
     where target_kind = $1 and target_id = $2 order by occurred_at`,
    [kind, id],
  );
  const ids: string[] = [];
  const named = ({ row }: { readonly row: string }): string =>
    row.replaceAll(uuid, (each) => {
      if (!ids.includes(each)) ids.push(each);
      return each === anActor.userId ? 'the admin' : `#${ids.indexOf(each)}`;
    });
  return { changed, history: history.map(named), events: events.map(named) };
}

it("a team's budget has the same history, file marks and events as a user's after the same changes", async () => {
  const [{ keyOwner }] = await aTeam(query);
  const team = await afterChanges({ team: keyOwner.kind === 'team' ? keyOwner.teamId : '' });
  const user = await afterChanges({ user: userIdOf(await aUser(query)) });
  expect(team).toEqual(user);
  expect(user).toMatchObject({
    changed: [true, false, false, true, true, true, true, true, false, true, true],
    history: { length: 6 },
    events: { length: 4 },
  });
});
