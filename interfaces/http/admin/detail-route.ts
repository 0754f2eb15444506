import * as E from 'fp-ts/lib/Either.js';
import type { AdminRoute } from './admin-route.ts';
import type { AdminData } from './json-text.ts';
import { noQuery, uuidIn } from './query.ts';

interface Detail<A> {
  /** The path of the list. */
  readonly root: string;
  /** The parameter that names the row, by its UUID. */
  readonly param: string;
  /** What there is none of, as in `request log`. */
  readonly what: string;
  readonly find: (id: string) => Promise<A | undefined>;
  readonly present: (found: A) => AdminData;
}

/** One row by its id. Strict: a row that was purged or never was is no empty row. */
export const detailRoute = <A>({ root, param, what, find, present }: Detail<A>): AdminRoute => ({
  method: 'GET',
  path: `${root}/:${param}`,
  handle: async ({ query, params }) => {
    const error = noQuery(query);
    if (E.isLeft(error)) return error;
    const id = uuidIn(params[param] ?? '');
    const found = id === undefined ? undefined : await find(id);
    return found === undefined
      ? E.left({ code: 'not_found', message: `There is no ${what} of this id.`, param })
      : E.right(present(found));
  },
});
