import type { Either } from 'fp-ts/lib/Either.js';
import type { KeyOwner, Owner } from '../../domain/identity/caller.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { CallerLink, HeldMemory } from '../model-request.ts';
import type { AdminActor } from './admin-events.ts';

/** A test that is about to be sent. */
export interface ModelTest {
  readonly modelKey: string;
  /** The route's position in the file; `undefined` for the route that a caller's request would take. */
  readonly routePosition: number | undefined;
  readonly owner: Owner;
  readonly family: string;
  readonly requestId: RequestId;
}

export type RecordedTest =
  | { readonly kind: 'recorded'; readonly keyOwner: KeyOwner }
  /** There is no such model, no such route of the model, or no such active owner. */
  | { readonly kind: 'no_model' | 'no_route' | 'no_owner' };

export interface ModelTests {
  /** Writes the event of the test before anything is sent; its outcome is in the log of its request. */
  readonly record: (test: ModelTest, actor: AdminActor) => Promise<RecordedTest>;
}

/** The room that a test takes in the process, as a caller's request does. */
export interface TestSlot {
  readonly memory: HeldMemory;
  /** Lost when the test times out, or when the process shuts down. */
  readonly link: CallerLink;
  readonly leave: () => void;
}

/** Left: the process, or the owner, already has as many requests in flight as allowed. */
export type AdmitTest = (ownershipScope: string) => Either<GatewayError, TestSlot>;
