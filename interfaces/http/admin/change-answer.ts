import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Changed } from '../../../application/ports/changes.ts';
import { type AdminFailure, conflictWith, notFound } from './admin-route.ts';
import type { AdminData } from '../json-text.ts';

/** How answers name and show an object. */
interface Named<A, B extends AdminData> {
  /** For example `API key`. */
  readonly what: string;
  /** The path parameter. */
  readonly param: string;
  readonly present: (of: A) => B;
}

/** The failure for a change that was not made. */
export const unchanged = <A, B extends AdminData>(
  changed: Exclude<Changed<A>, { readonly kind: 'done' }>,
  { what, param, present }: Named<A, B>,
): AdminFailure =>
  changed.kind === 'missing' ? notFound(what, param) : conflictWith(present(changed.present));

/** The answer to a change: the object in its current state, or the failure. */
export const changedAnswer = <A, B extends AdminData>(
  changed: Changed<A>,
  named: Named<A, B>,
): Either<AdminFailure, B> =>
  changed.kind === 'done' ? E.right(named.present(changed.present)) : E.left(unchanged(changed, named));

/** The failure when a new object would collide with an existing one. */
export const taken = (message: string, param: string, present: AdminData): AdminFailure => ({
  ...conflictWith(present),
  message,
  param,
});
