import type { AdminActor } from './admin-events.ts';

/** Who makes a change; undefined: the gateway's command line. */
export type Author = AdminActor | undefined;

/** What became of a change that names the version it is made to. */
export type Changed<A> =
  | { readonly kind: 'done'; readonly present: A }
  /** There is no such object. */
  | { readonly kind: 'missing' }
  /** Somebody else changed it first. */
  | { readonly kind: 'stale'; readonly present: A };

/** What became of something new. */
export type Created<A> =
  | { readonly kind: 'done'; readonly present: A }
  /** Another object has this id already. */
  | { readonly kind: 'taken'; readonly present: A };

/** A change to the object of this id, if it is still at `version`; undefined: at whatever version it is. */
export interface Change<I, P> {
  readonly id: I;
  readonly patch: P;
  readonly version: number | undefined;
  readonly author: Author;
}
