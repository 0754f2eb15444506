import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { type AdminRoute, adminRoute, notFound } from './admin-route.ts';
import { uuidIn } from './query.ts';

interface Detail<C extends t.Mixed, A> {
  /** The path of the list. */
  readonly root: string;
  /** The path parameter that names the row. */
  readonly param: string;
  /** Reads the id; `undefined` when no row can have it. UUIDs by default. */
  readonly idIn?: (text: string) => string | undefined;
  /** The name of the object in errors, for example `request log`. */
  readonly what: string;
  readonly summary: string;
  readonly answer: C;
  readonly fromReplica?: boolean;
  readonly find: (id: string) => Promise<A | undefined>;
  readonly present: (found: A) => t.TypeOf<C>;
}

/** One row by its id. A row that was purged or never existed is a 404, not an empty row. */
export const detailRoute = <C extends t.Mixed, A>({
  root,
  param,
  idIn = uuidIn,
  what,
  find,
  present,
  ...declared
}: Detail<C, A>): AdminRoute =>
  adminRoute({
    ...declared,
    method: 'GET',
    path: `${root}/:${param}`,
    errors: ['not_found'],
    handle: async ({ params }) => {
      const id = idIn(params[param] ?? '');
      const found = id === undefined ? undefined : await find(id);
      return found === undefined ? E.left(notFound(what, param)) : E.right(present(found));
    },
  });
