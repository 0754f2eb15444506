import type { AdminActor } from './admin-events.ts';

/** Who makes a change; `undefined` for the gateway's command line. */
export type Author = AdminActor | undefined;

/** The outcome of a change that names the version it applies to. */
export type Changed<A> =
  | { readonly kind: 'done'; readonly present: A }
  /** There is no such object. */
  | { readonly kind: 'missing' }
  /** Somebody else changed it first. */
  | { readonly kind: 'stale'; readonly present: A };

/** The outcome of a creation. */
export type Created<A> =
  | { readonly kind: 'done'; readonly present: A }
  /** Another object already has this id. */
  | { readonly kind: 'taken'; readonly present: A };

/** A change to the object with this id, if it is still at `version`; `undefined` applies it to any version. */
export interface Change<I, P> {
  readonly id: I;
  readonly patch: P;
  readonly version: number | undefined;
  readonly author: Author;
}
