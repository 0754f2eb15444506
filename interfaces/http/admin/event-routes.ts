import * as E from 'fp-ts/lib/Either.js';
import type { AdminEvent, AdminEvents } from '../../../application/ports/admin-events.ts';
import { adminActions, adminTargetKinds } from '../../../domain/identity/admin-event.ts';
import type { AdminRoute } from './admin-route.ts';
import { type AdminData, nullIfMissing, storedJsonText } from './json-text.ts';
import { presentPage } from './page-body.ts';
import { optionalInput } from './inputs.ts';
import { instantParam, oneOf, readPage, nameParam, uuid } from './query.ts';

export interface EventRoutePorts {
  readonly adminEvents: AdminEvents;
}

const listShape = {
  actor_user_id: uuid,
  action: optionalInput(oneOf(adminActions)),
  target_kind: optionalInput(oneOf(adminTargetKinds)),
  target_id: nameParam,
  from: instantParam,
  to: instantParam,
};

/** What admins changed, newest first. */
export const eventRoutes = ({ adminEvents }: EventRoutePorts): readonly AdminRoute[] => [
  {
    method: 'GET',
    path: '/api/v1/admin/events',
    handle: async ({ query }) => {
      const ask = readPage(query, listShape);
      if (E.isLeft(ask)) return ask;
      const { page, pageSize, ...asked } = ask.right;
      const filter = {
        actorUserId: asked.actor_user_id,
        action: asked.action,
        targetKind: asked.target_kind,
        targetId: asked.target_id,
        from: asked.from,
        until: asked.to,
      };
      const found = await adminEvents.page(filter, { page, pageSize });
      return E.right(presentPage({ page, pageSize }, found, presentEvent));
    },
  },
];

const presentEvent = (event: AdminEvent): AdminData => ({
  admin_event_id: event.adminEventId,
  occurred_at: event.occurredAt.toISOString(),
  actor_user_id: nullIfMissing(event.actorUserId),
  action: event.action,
  target_kind: event.targetKind,
  target_id: event.targetId,
  before_json: storedJsonText(event.before),
  after_json: storedJsonText(event.after),
  remote_address: nullIfMissing(event.remoteAddress),
});
