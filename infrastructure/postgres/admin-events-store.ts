import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { AdminEvent, AdminEventFilter, AdminEvents } from '../../application/ports/admin-events.ts';
import type { Author } from '../../application/ports/changes.ts';
import type { AdminAction, AdminTargetKind } from '../../domain/identity/admin-event.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { timestamp, orUndefined } from './codecs.ts';
import { all } from './list-conditions.ts';
import { row } from './pool.ts';
import { touchState } from './state-follower.ts';
import { storedJson } from './stored-text.ts';
import { pageOf, readList, type TimeList, totalOf } from './time-list.ts';

/** The record of a change, as JSON without secrets. */
export interface ChangeEvent {
  readonly action: AdminAction;
  readonly targetKind: AdminTargetKind;
  readonly targetId: string;
  readonly before: JsonObject | undefined;
  readonly after: JsonObject | undefined;
}

/** Writes the event of a change in the change's own transaction. */
export async function addEvent(
  transaction: CommonQueryMethods,
  author: Author,
  { action, targetKind, targetId, before, after }: ChangeEvent,
): Promise<void> {
  await transaction.query(sql.unsafe`
    insert into admin_events (actor_user_id, action, target_kind, target_id, before_json, after_json, remote_address,
                              admin_token_id)
    values (${author?.userId ?? null}, ${action}, ${targetKind}, ${targetId},
            ${before === undefined ? null : storedJson(before)}, ${after === undefined ? null : storedJson(after)},
            ${author?.address ?? null}, ${author?.adminTokenId ?? null})
  `);
}

/** The same for a change that replicas follow: they learn of it when its transaction commits. */
export async function recordChange(
  transaction: CommonQueryMethods,
  author: Author,
  event: ChangeEvent,
): Promise<void> {
  await addEvent(transaction, author, event);
  await touchState(transaction);
}

/** The event of a change from the gateway's command line, where there is no logged-in user and no remote address. */
export const addCommandEvent = (transaction: CommonQueryMethods, event: ChangeEvent): Promise<void> =>
  addEvent(transaction, undefined, event);

const text = orUndefined(t.string);

const eventRow = t.type({
  admin_event_id: t.string,
  occurred_at: timestamp,
  actor_user_id: text,
  action: t.string,
  target_kind: t.string,
  target_id: t.string,
  before: text,
  after: text,
  remote_address: text,
  admin_token_id: text,
});

/** The events of admins' changes, newest first. */
export const adminEventsStore = (pool: DatabasePool): AdminEvents => ({
  page: (filter, page) =>
    readList(pool, async (connection) => {
      const list = listOf(filter);
      const total = await totalOf(connection, list, filter);
      const rows = await connection.any(sql.type(row(eventRow))`
        select e.admin_event_id, e.occurred_at, e.actor_user_id, e.action, e.target_kind, e.target_id,
               e.before_json::text as before, e.after_json::text as after, e.remote_address,
               e.admin_token_id
        from (${pageOf(list, filter, page)}) page join admin_events e on e.admin_event_id = page.id
        order by page.occurred_at desc, page.id desc
      `);
      return { items: rows.map(adminEvent), ...total };
    }),
});

function listOf({ adminEventId, actorUserId, action, targetKind, targetId }: AdminEventFilter): TimeList {
  const conditions = [
    ...(adminEventId === undefined ? [] : [sql.fragment`e.admin_event_id = ${adminEventId}`]),
    ...(actorUserId === undefined ? [] : [sql.fragment`e.actor_user_id = ${actorUserId}`]),
    ...(action === undefined ? [] : [sql.fragment`e.action = ${action}`]),
    ...(targetKind === undefined ? [] : [sql.fragment`e.target_kind = ${targetKind}`]),
    ...(targetId === undefined ? [] : [sql.fragment`e.target_id = ${targetId}`]),
  ];
  return {
    by: 'time',
    rows: sql.fragment`admin_events e where ${all(conditions)}`,
    time: sql.fragment`e.occurred_at`,
    key: sql.fragment`e.admin_event_id`,
  };
}

const adminEvent = (found: t.TypeOf<typeof eventRow>): AdminEvent => ({
  adminEventId: found.admin_event_id,
  occurredAt: found.occurred_at,
  actorUserId: found.actor_user_id,
  action: found.action,
  targetKind: found.target_kind,
  targetId: found.target_id,
  before: found.before,
  after: found.after,
  remoteAddress: found.remote_address,
  adminTokenId: found.admin_token_id,
});
