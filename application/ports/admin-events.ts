import type { AdminAction, AdminTargetKind } from '../../domain/identity/admin-event.ts';
import type { Page, PageAsk } from './page.ts';

/** The admin who makes a change, and where the call comes from. */
export interface AdminActor {
  readonly userId: string;
  readonly address: string;
  /** The token that the call is made with; undefined: a session. */
  readonly adminTokenId?: string | undefined;
}

/** What an admin did. */
export interface AdminEvent {
  readonly adminEventId: string;
  readonly occurredAt: Date;
  /** Undefined: the gateway's command line, which has no address either. */
  readonly actorUserId: string | undefined;
  readonly action: string;
  readonly targetKind: string;
  readonly targetId: string;
  /** JSON text; undefined: there was nothing before, or is nothing since. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly remoteAddress: string | undefined;
  /** Undefined: not made with a token. */
  readonly adminTokenId: string | undefined;
}

export interface AdminEventFilter {
  readonly actorUserId: string | undefined;
  readonly action: AdminAction | undefined;
  readonly targetKind: AdminTargetKind | undefined;
  readonly targetId: string | undefined;
  /** Half-open. */
  readonly from: Date | undefined;
  readonly until: Date | undefined;
}

/** What was changed and by whom. Whoever changes something writes its event in the same transaction. */
export interface AdminEvents {
  /** Newest first. */
  readonly page: (filter: AdminEventFilter, ask: PageAsk) => Promise<Page<AdminEvent>>;
}
