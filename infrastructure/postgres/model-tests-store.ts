import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { ModelTest, ModelTests, RecordedTest } from '../../application/ports/model-tests.ts';
import type { KeyOwner, Owner } from '../../domain/identity/caller.ts';
import { addEvent, type ChangeEvent } from './admin-events-store.ts';
import { row } from './pool.ts';

/** Tests of models: the objects that a test names are looked up, and its event is written, in one transaction. */
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
      await addEvent(connection, actor, testEvent(test));
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

function testEvent(test: ModelTest): ChangeEvent {
  const { owner } = test;
  const after = {
    request_id: test.requestId,
    route_position: test.routePosition ?? null,
    family: test.family,
    owner_kind: owner.kind,
    owner_id: owner.kind === 'user' ? owner.userId : owner.teamId,
  };
  return { action: 'model.test', targetKind: 'model', targetId: test.modelKey, before: undefined, after };
}
