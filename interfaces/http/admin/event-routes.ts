import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import type { AdminEvent, AdminEvents } from '../../../application/ports/admin-events.ts';
import { adminActions, adminTargetKinds } from '../../../domain/identity/admin-event.ts';
import { type AdminRoute, listRoute } from './admin-route.ts';
import { instantValue, orNull, objectOf, jsonValue, textValue, uuidValue } from '../answers.ts';
import { choiceInput, optionalInput } from './inputs.ts';
import { storedJsonText } from '../json-text.ts';
import { instantParam, nameParam, uuid } from './query.ts';

export interface EventRoutePorts {
  readonly adminEvents: AdminEvents;
}

const filters = {
  admin_event_id: uuid,
  actor_user_id: uuid,
  action: optionalInput(choiceInput(adminActions)),
  target_kind: optionalInput(choiceInput(adminTargetKinds)),
  target_id: nameParam,
  from: instantParam,
  to: instantParam,
};

const adminEvent = objectOf({
  admin_event_id: uuidValue,
  occurred_at: instantValue,
  actor_user_id: orNull(uuidValue),
  action: textValue,
  target_kind: textValue,
  target_id: textValue,
  before_json: orNull(jsonValue),
  after_json: orNull(jsonValue),
  remote_address: orNull(textValue),
  admin_token_id: orNull(uuidValue),
});

/** Changes by admins, newest first. */
export const eventRoutes = ({ adminEvents }: EventRoutePorts): readonly AdminRoute[] => [
  listRoute({
    path: '/api/v1/admin/events',
    summary: 'What admins changed, newest first.',
    query: filters,
    item: adminEvent,
    find: async (asked, page) => {
      const filter = {
        adminEventId: asked.admin_event_id,
        actorUserId: asked.actor_user_id,
        action: asked.action,
        targetKind: asked.target_kind,
        targetId: asked.target_id,
        from: asked.from,
        until: asked.to,
      };
      return E.right(await adminEvents.page(filter, page));
    },
    present: presentEvent,
  }),
];

function presentEvent(event: AdminEvent): t.TypeOf<typeof adminEvent> {
  return {
    admin_event_id: event.adminEventId,
    occurred_at: event.occurredAt.toISOString(),
    actor_user_id: event.actorUserId ?? null,
    action: event.action,
    target_kind: event.targetKind,
    target_id: event.targetId,
    before_json: storedJsonText(event.before),
    after_json: storedJsonText(event.after),
    remote_address: event.remoteAddress ?? null,
    admin_token_id: event.adminTokenId ?? null,
  };
}
