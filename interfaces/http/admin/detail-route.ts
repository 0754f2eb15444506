import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { type AdminRoute, adminRoute, notFound } from './admin-route.ts';
import { uuidIn } from './query.ts';

interface Detail<C extends t.Mixed, A> {
  /** The path of the list. */
  readonly root: string;
  /** The parameter that names the row, by its UUID. */
  readonly param: string;
  /** What there is none of, as in `request log`. */
  readonly what: string;
  readonly summary: string;
  readonly answer: C;
  readonly fromReplica?: boolean;
  readonly find: (id: string) => Promise<A | undefined>;
  readonly present: (found: A) => t.TypeOf<C>;
}

/** One row by its id. Strict: a row that was purged or never was is no empty row. */
export const detailRoute = <C extends t.Mixed, A>(of: Detail<C, A>): AdminRoute =>
  adminRoute({
    method: 'GET',
    path: `${of.root}/:${of.param}`,
    summary: of.summary,
    answer: of.answer,
    errors: ['not_found'],
    ...(of.fromReplica === true ? { fromReplica: true } : {}),
    handle: async ({ params }) => {
      const id = uuidIn(params[of.param] ?? '');
      const found = id === undefined ? undefined : await of.find(id);
      return found === undefined ? E.left(notFound(of.what, of.param)) : E.right(of.present(found));
    },
  });
