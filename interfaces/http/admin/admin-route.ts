import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import type { AdminActor } from '../../../application/ports/admin-events.ts';
import type { Page, PageRequest } from '../../../application/ports/page.ts';
import { changesState } from '../../../domain/identity/cross-origin.ts';
import { type ErrorCode, type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { isObject, type Json } from '../../../domain/shared/json.ts';
import { pageValue } from '../answers.ts';
import { type Inputs, readInputs, type ValuesOf } from './inputs.ts';
import type { AdminData } from '../json-text.ts';
import { pageShape, readPage, readQuery } from './query.ts';

/** The admin who calls. The role was read during this request. */
export interface Admin extends AdminActor {
  readonly email: string;
}

/** A call of a platform admin, with session, role and origin checked. */
export interface AdminCall {
  readonly admin: Admin;
  /** Values of the `:name` parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The JSON body, if there is one. */
  readonly body: Json | undefined;
  /** The `If-Match` header. */
  readonly ifMatch: string | undefined;
}

/** An expected failure, with the current state of an object that could not be changed. */
export type AdminFailure = GatewayError & { readonly present?: AdminData };

/** What a body describes, as in `a budget`, and its members. */
export interface BodyInputs<B extends Inputs = Inputs> {
  readonly of: string;
  readonly members: B;
}

/** The inputs and the answer of a route. The API description is made from them (`openapi.json`). */
export interface RouteTerms {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** For example `/api/v1/admin/spend/budgets/users/:user_id`. */
  readonly path: string;
  /** One sentence. */
  readonly summary: string;
  readonly query: Inputs;
  /** `undefined`: it takes no body. */
  readonly body: BodyInputs | undefined;
  /** Its object has versions, of which `If-Match` may name the one to change. */
  readonly isVersioned?: boolean;
  /** The codec of `data`. */
  readonly answer: t.Mixed;
  /** It reads a replica where there is one, and `meta` says how far that replica has caught up. */
  readonly fromReplica?: boolean;
  /** In addition to those of every call: no session, not an admin, invalid input, no database, overload, a defect. */
  readonly errors: readonly ErrorCode[];
}

/** One admin endpoint. Its result becomes `data` of `{data, meta}`, with status 200. */
export interface AdminRoute extends RouteTerms {
  /** Whether it changes nothing, even if its method is one that changes state. */
  readonly isRead: boolean;
  /** It accepts a session but no API token, whatever its scope. */
  readonly sessionOnly?: boolean;
  readonly handle: (call: AdminCall) => Promise<Either<AdminFailure, AdminData>>;
}

/** A call whose inputs were decoded by the codecs of its route. */
export interface ReadCall<Q extends Inputs, B extends Inputs> {
  readonly admin: Admin;
  readonly params: Readonly<Record<string, string>>;
  readonly query: ValuesOf<Q>;
  readonly body: ValuesOf<B>;
  /** The version that `If-Match` names. */
  readonly ifMatch: number | undefined;
}

interface Declared<Q extends Inputs, B extends Inputs, C extends t.Mixed> {
  readonly method: RouteTerms['method'];
  readonly path: string;
  readonly summary: string;
  readonly query?: Q;
  readonly body?: BodyInputs<B>;
  readonly isVersioned?: boolean;
  readonly answer: C;
  readonly errors?: readonly ErrorCode[];
  readonly isRead?: boolean;
  readonly fromReplica?: boolean;
  readonly sessionOnly?: boolean;
  readonly handle: (call: ReadCall<Q, B>) => Promise<Either<AdminFailure, t.TypeOf<C>>>;
}

const none: Inputs = {};

/** A route from its declaration: its codecs decode the inputs before `handle` is called. */
export const adminRoute = <C extends t.Mixed, Q extends Inputs = Inputs, B extends Inputs = Inputs>({
  query = none as Q,
  body,
  errors = [],
  handle,
  isRead,
  ...declared
}: Declared<Q, B, C>): AdminRoute => ({
  ...declared,
  query,
  body,
  errors,
  isRead: isRead ?? !changesState(declared.method),
  handle: async (call) => {
    const asked = readQuery(call.query, query);
    if (E.isLeft(asked)) return asked;
    const given = readBody(call.body, body);
    if (E.isLeft(given)) return given;
    const version = readVersion(call.ifMatch, declared.isVersioned);
    if (E.isLeft(version)) return version;
    const { admin, params } = call;
    return handle({ admin, params, query: asked.right, body: given.right, ifMatch: version.right });
  },
});

interface List<Q extends Inputs, C extends t.Mixed, A> {
  readonly path: string;
  readonly summary: string;
  /** The filters. */
  readonly query: Q;
  readonly item: C;
  readonly errors?: readonly ErrorCode[];
  readonly sessionOnly?: boolean;
  readonly fromReplica?: boolean;
  /** Fails when the object that owns the list does not exist. */
  readonly find: (
    asked: ValuesOf<Q>,
    page: PageRequest,
    params: AdminCall['params'],
  ) => Promise<Either<AdminFailure, Page<A>>>;
  readonly present: (item: A) => t.TypeOf<C>;
}

/** A paginated list. */
export const listRoute = <Q extends Inputs, C extends t.Mixed, A>({
  item,
  find,
  present,
  query,
  errors = [],
  ...declared
}: List<Q, C, A>): AdminRoute => ({
  ...declared,
  method: 'GET',
  query: { ...query, ...pageShape },
  body: undefined,
  answer: pageValue(item),
  errors,
  isRead: true,
  handle: async (call) => {
    const read = readPage(call.query, query);
    if (E.isLeft(read)) return read;
    const { page, pageSize } = read.right;
    const found = await find(read.right, { page, pageSize }, call.params);
    if (E.isLeft(found)) return found;
    const { items, total, totalIsLowerBound } = found.right;
    return E.right({
      items: items.map(present),
      page,
      page_size: pageSize,
      total,
      total_is_lower_bound: totalIsLowerBound,
    });
  },
});

/** Decodes the members of a body. An error names the field. */
export function readBody<B extends Inputs>(
  given: Json | undefined,
  body: BodyInputs<B> | undefined,
): Either<GatewayError, ValuesOf<B>> {
  const { of, members } = body ?? { of: 'this call, which takes no body', members: none as B };
  if (body !== undefined && !isObject(given))
    return E.left(invalidRequest('The body must be a JSON object.', 'body'));
  return readInputs(isObject(given) ? given : {}, members, (name) => `\`${name}\` is no field of ${of}.`);
}

const quoted = /^(?:W\/)?"(.*)"$/;
const versionDigits = '[1-9][0-9]{0,8}';
const versionShape = new RegExp(`^${versionDigits}$`);
/** A version in `If-Match`, for the description of the API; without its quotes it is read, too (rule 44.24). */
export const versionPattern = `^(W/)?"${versionDigits}"$`;

function readVersion(
  header: string | undefined,
  isVersioned = false,
): Either<GatewayError, number | undefined> {
  if (header === undefined) return E.right(undefined);
  if (!isVersioned)
    return E.left(invalidRequest('What is at this path has no versions to match.', 'if-match'));
  const given = quoted.exec(header)?.[1] ?? header;
  return versionShape.test(given)
    ? E.right(Number(given))
    : E.left(invalidRequest('`If-Match` must name a version in quotes, such as "3".', 'if-match'));
}

/** No object has the id in this path parameter. */
export const notFound = (what: string, param: string): AdminFailure => ({
  code: 'not_found',
  message: `There is no ${what} of this id.`,
  param,
});

/** Somebody else changed it in the meantime; the answer shows its current state. */
export const conflictWith = (present: AdminData): AdminFailure => ({
  code: 'conflict',
  message: 'It was changed in the meantime: read its present state, and decide again.',
  present,
});
