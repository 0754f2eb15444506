import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { maxNamedKeyChars } from '../../../domain/shared/limits.ts';

/** How the text of one parameter becomes a value; undefined: it does not, and `must` tells what it must be. */
export interface QueryParam<A> {
  readonly read: (text: string) => A | undefined;
  readonly must: string;
  /** What stands for a parameter that was not given. */
  readonly otherwise: () => A;
}

type QueryShape = Readonly<Record<string, QueryParam<unknown>>>;

/** The values of a query, under the names of its parameters. */
export type QueryValues<S extends QueryShape> = {
  readonly [K in keyof S]: S[K] extends QueryParam<infer A> ? A : never;
};

/** A parameter that may be left out, and is undefined then. */
export const optional = <A>(param: QueryParam<A>): QueryParam<A | undefined> => ({
  ...param,
  otherwise: () => undefined,
});

/** A whole number in a range, its ends included. */
export const whole = (from: number, to: number, otherwise: number): QueryParam<number> => ({
  read: (text) => {
    const value = Number(text);
    return /^\d{1,16}$/.test(text) && value >= from && value <= to ? value : undefined;
  },
  must: `must be a whole number from ${from} to ${to}`,
  otherwise: () => otherwise,
});

/** One of these words. */
export const word = <const W extends string>(words: readonly [W, ...W[]], otherwise: W): QueryParam<W> => ({
  read: (text) => words.find((each) => each === text),
  must: `must be one of ${words.join(', ')}`,
  otherwise: () => otherwise,
});

/** Characters of an id or a name to look for: longer ones are in no table. */
const maxTextChars = 1024;
/** A request id is the caller's, and may fill the headers of its request (rule 33.17). */
const maxRequestIdChars = 32 * 1024;

/** Any text of so many characters that a table can hold; may be left out. */
const textUpTo = (maxChars: number): QueryParam<string | undefined> => ({
  read: (given) => (given !== '' && given.length <= maxChars && !given.includes('\0') ? given : undefined),
  must: `must have 1 to ${maxChars} characters`,
  otherwise: () => undefined,
});

/** An id or a name; may be left out. */
export const text = textUpTo(maxTextChars);

/** A request id, as long as any that is stored; may be left out. */
export const requestIdText = textUpTo(maxRequestIdChars);

/** A SHA-256 in hex; may be left out. */
export const sha256: QueryParam<string | undefined> = {
  read: (given) => (/^[0-9a-f]{64}$/i.test(given) ? given.toLowerCase() : undefined),
  must: 'must be a SHA-256 in 64 hex digits',
  otherwise: () => undefined,
};

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUID, as the service hands them out; may be left out. */
export const uuid: QueryParam<string | undefined> = {
  read: (given) => (uuidShape.test(given) ? given.toLowerCase() : undefined),
  must: 'must be a UUID',
  otherwise: () => undefined,
};

const instantShape =
  /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** An instant of RFC 3339, to the millisecond; may be left out. */
export const instant: QueryParam<Date | undefined> = {
  read: (given) => {
    const [, day = ''] = instantShape.exec(given) ?? [];
    const midnight = new Date(`${day}T00:00:00Z`);
    const isDay = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
    return day !== '' && isDay ? new Date(given.toUpperCase()) : undefined;
  },
  must: 'must be an instant of RFC 3339, such as 2026-01-31T00:00:00Z (a + is written %2B)',
  otherwise: () => undefined,
};

/** The parameters of a call. One that is misspelt, repeated or out of range is told by its name. */
export function readQuery<S extends QueryShape>(
  query: URLSearchParams,
  shape: S,
): Either<GatewayError, QueryValues<S>> {
  const unknown = [...query.keys()].find((name) => !Object.hasOwn(shape, name));
  if (unknown !== undefined) return E.left(unknownParam(unknown, Object.keys(shape)));
  const values: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(shape)) {
    const [given, ...more] = query.getAll(name);
    if (more.length > 0) return E.left(invalidRequest(`\`${name}\` must be given once.`, name));
    const value = given === undefined ? param.otherwise() : param.read(given);
    if (given !== undefined && value === undefined)
      return E.left(invalidRequest(`\`${name}\` ${param.must}.`, name));
    values[name] = value;
  }
  return E.right(values as QueryValues<S>);
}

function unknownParam(name: string, known: readonly string[]): GatewayError {
  const shown = name.slice(0, maxNamedKeyChars);
  const others = known.length === 0 ? 'there are none here' : `there are ${known.join(', ')}`;
  return invalidRequest(`There is no query parameter \`${shown}\`; ${others}.`, shown);
}

/** For an endpoint that has no query parameters. */
export const noQuery = (query: URLSearchParams): Either<GatewayError, object> => readQuery(query, {});

/** A page: `page` from 1, `page_size` at most 200 (rule 40.3). */
export interface Page {
  readonly page: number;
  readonly pageSize: number;
}

/** `page × page_size` is at most this: further back, a filter finds things and a page does not. */
const maxReach = 100_000;

const pageShape = { page: whole(1, maxReach, 1), page_size: whole(1, 200, 50) };

/** The page that is asked for. */
export function readPage(query: URLSearchParams): Either<GatewayError, Page>;
/** The page that is asked for, and the other parameters of the list. */
export function readPage<S extends QueryShape>(
  query: URLSearchParams,
  shape: S,
): Either<GatewayError, QueryValues<S> & Page>;
export function readPage(query: URLSearchParams, shape: QueryShape = {}): Either<GatewayError, Page> {
  const read = readQuery(query, { ...shape, ...pageShape });
  if (E.isLeft(read)) return read;
  const { page, page_size: pageSize, ...others } = read.right;
  return page * pageSize > maxReach
    ? E.left(invalidRequest(`\`page\` times \`page_size\` must be at most ${maxReach}.`, 'page'))
    : E.right({ ...others, page, pageSize });
}
