import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { AdminActor } from '../../application/ports/admin-events.ts';
import type { ModelTest, ModelTests, RecordedTest } from '../../application/ports/model-tests.ts';
import type { AdminAction, AdminTargetKind } from '../../domain/identity/admin-event.ts';
import type { KeyOwner, Owner } from '../../domain/identity/caller.ts';
import { row } from './pool.ts';
import { storedJson } from './stored-text.ts';

/** Tests of models: what they name is looked up, and their event written, in one transaction. */
export const modelTestsStore = (pool: DatabasePool): ModelTests => ({
  record: (test, actor) =>
    pool.transaction(async (connection): Promise<RecordedTest> => {
      const { modelKey, routePosition } = test;
      if (!(await exists(connection, sql.fragment`models m where m.model_key = ${modelKey}`)))
        return { kind: 'no_model' };
      const route = sql.fragment`
        model_routes r where r.model_key = ${modelKey} and r.position = ${routePosition ?? null}::bigint
      `;
      if (routePosition !== undefined && !(await exists(connection, route))) return { kind: 'no_route' };
      const keyOwner = await keyOwnerOf(connection, test.owner);
      if (keyOwner === undefined) return { kind: 'no_owner' };
      await addEvent(connection, test, actor);
      return { kind: 'recorded', keyOwner };
    }),
});

const exists = async (
  connection: CommonQueryMethods,
  rows: ReturnType<(typeof sql)['fragment']>,
): Promise<boolean> => connection.exists(sql.unsafe`select 1 from ${rows}`);

const userRow = t.type({ request_logging_enabled: t.boolean });

async function keyOwnerOf(connection: CommonQueryMethods, owner: Owner): Promise<KeyOwner | undefined> {
  if (owner.kind === 'team') {
    const { teamId } = owner;
    const isThere = await exists(connection, sql.fragment`teams m where m.team_id = ${teamId} and m.active`);
    return isThere ? { kind: 'team', teamId } : undefined;
  }
  const { userId } = owner;
  const user = await connection.maybeOne(sql.type(row(userRow))`
    select u.request_logging_enabled from users u where u.user_id = ${userId} and u.active
  `);
  return user === null
    ? undefined
    : { kind: 'user', userId, requestLoggingEnabled: user.request_logging_enabled };
}

const action: AdminAction = 'model.test';
const targetKind: AdminTargetKind = 'model';

async function addEvent(connection: CommonQueryMethods, test: ModelTest, actor: AdminActor): Promise<void> {
  const { owner } = test;
  const after = {
    request_id: test.requestId,
    route_position: test.routePosition ?? null,
    family: test.family,
    owner_kind: owner.kind,
    owner_id: owner.kind === 'user' ? owner.userId : owner.teamId,
  };
  await connection.query(sql.unsafe`
    insert into admin_events (actor_user_id, action, target_kind, target_id, after_json, remote_address)
    values (${actor.userId}, ${action}, ${targetKind}, ${test.modelKey}, ${storedJson(after)}, ${actor.address})
  `);
}
