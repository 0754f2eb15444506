import type { AdminAction, AdminTargetKind } from '../../domain/identity/admin-event.ts';
import type { Page, PageRequest } from './page.ts';

/** The admin who makes a change, and where the call comes from. */
export interface AdminActor {
  readonly userId: string;
  readonly address: string;
  /** The token that the call is made with; `undefined` for a session. */
  readonly adminTokenId?: string | undefined;
}

/** An action of an admin. */
export interface AdminEvent {
  readonly adminEventId: string;
  readonly occurredAt: Date;
  /** `undefined` for the gateway's command line, which has no address either. */
  readonly actorUserId: string | undefined;
  readonly action: string;
  readonly targetKind: string;
  readonly targetId: string;
  /** JSON text. `before` is `undefined` when there was nothing before, `after` when there is nothing any more. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly remoteAddress: string | undefined;
  /** `undefined` when the change was not made with a token. */
  readonly adminTokenId: string | undefined;
}

export interface AdminEventFilter {
  readonly adminEventId: string | undefined;
  readonly actorUserId: string | undefined;
  readonly action: AdminAction | undefined;
  readonly targetKind: AdminTargetKind | undefined;
  readonly targetId: string | undefined;
  /** The range is half-open. */
  readonly from: Date | undefined;
  readonly until: Date | undefined;
}

/** What was changed and by whom. Every change writes its event in the same transaction. */
export interface AdminEvents {
  /** Newest first. */
  readonly page: (filter: AdminEventFilter, page: PageRequest) => Promise<Page<AdminEvent>>;
}
