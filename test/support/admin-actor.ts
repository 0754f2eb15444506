import type { AdminActor } from '../../application/ports/admin-events.ts';

/** An admin who changes something, for tests that do not log in. */
export const anActor: AdminActor = {
  userId: '00000000-0000-4000-8000-0000000000aa',
  address: '192.0.2.1',
};
