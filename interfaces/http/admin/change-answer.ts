import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Changed } from '../../../application/ports/changes.ts';
import { type AdminFailure, conflictWith, notFound } from './admin-route.ts';
import type { AdminData } from '../json-text.ts';

/** How an object is named in answers. */
interface Named<A, B extends AdminData> {
  /** As in `API key`. */
  readonly what: string;
  /** The parameter of the path. */
  readonly param: string;
  readonly present: (of: A) => B;
}

/** Why a change was not made; undefined when it was. */
export const unchanged = <A, B extends AdminData>(
  changed: Exclude<Changed<A>, { readonly kind: 'done' }>,
  { what, param, present }: Named<A, B>,
): AdminFailure =>
  changed.kind === 'missing' ? notFound(what, param) : conflictWith(present(changed.present));

/** What a change gives back: the object as it is since. */
export const changedAnswer = <A, B extends AdminData>(
  changed: Changed<A>,
  named: Named<A, B>,
): Either<AdminFailure, B> =>
  changed.kind === 'done' ? E.right(named.present(changed.present)) : E.left(unchanged(changed, named));

/** Why something new was not made, beside what is there already. */
export const taken = (message: string, param: string, present: AdminData): AdminFailure => ({
  ...conflictWith(present),
  message,
  param,
});
