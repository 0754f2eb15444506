import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { PageRequest } from '../../../application/ports/page.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { hasAtMostChars } from '../../../domain/text/characters.ts';
import {
  type Input,
  input,
  type Inputs,
  optionalInput,
  otherwise,
  readInputs,
  type ValuesOf,
} from './inputs.ts';

/** A parameter decoded from its text. */
const param = <A>(must: string, schema: JsonObject, read: (text: string) => A | undefined): Input<A> =>
  input(must, schema, (given) => (typeof given === 'string' ? read(given) : undefined));

/** A whole number in a range, both ends included. */
export const integerParam = (from: number, to: number): Input<number> =>
  param(
    `must be a whole number from ${from} to ${to}`,
    { type: 'integer', minimum: from, maximum: to },
    (text) => {
      const value = Number(text);
      return /^\d{1,16}$/.test(text) && value >= from && value <= to ? value : undefined;
    },
  );

/** The same with a default. */
const whole = (from: number, to: number, unasked: number): Input<number> =>
  otherwise(integerParam(from, to), unasked);

/** Characters in an id or a name to search for: no table holds longer ones. */
const maxTextChars = 1024;
/** A request id is chosen by the caller, and may fill the request headers (rule 33.17). */
const maxRequestIdChars = 32 * 1024;

/** Text of at most this many characters that a table can hold. */
export const textUpTo = (maxChars: number): Input<string> =>
  param(
    `must have 1 to ${maxChars} characters`,
    { type: 'string', minLength: 1, maxLength: maxChars },
    (given) => (given !== '' && hasAtMostChars(given, maxChars) && !given.includes('\0') ? given : undefined),
  );

/** An optional id or name. */
export const nameParam = optionalInput(textUpTo(maxTextChars));

/** An optional request id, as long as any that is stored. */
export const requestIdText = optionalInput(textUpTo(maxRequestIdChars));

/** An optional SHA-256 in hex. */
export const sha256: Input<string | undefined> = optionalInput(
  param(
    'must be a SHA-256 in 64 hex digits',
    { type: 'string', pattern: '^[0-9a-fA-F]{64}$', examples: ['0'.repeat(64)] },
    (given) => (/^[0-9a-f]{64}$/i.test(given) ? given.toLowerCase() : undefined),
  ),
);

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUID in the form that the service issues; `undefined` when the text is not one. */
export const uuidIn = (given: string): string | undefined =>
  uuidShape.test(given) ? given.toLowerCase() : undefined;

/** An id that may be any text: the path was already rejected if no table can hold it. */
export const anyId = (given: string): string => given;

/** An optional UUID. */
export const uuid: Input<string | undefined> = optionalInput(
  param('must be a UUID', { type: 'string', format: 'uuid' }, uuidIn),
);

/** An optional `true` or `false`. */
export const flagParam: Input<boolean | undefined> = optionalInput(
  param('must be true or false', { type: 'boolean' }, (given) =>
    given === 'true' ? true : given === 'false' ? false : undefined,
  ),
);

const instantShape =
  /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

const instant = { type: 'string', format: 'date-time' };

/**
 * Parses an instant of RFC 3339, to the millisecond. `undefined` when it is not one, or when its year in UTC is outside
 * what RFC 3339 can write.
 */
function instantIn(given: string): Date | undefined {
  const [, day = ''] = instantShape.exec(given) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  const isDay = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  if (!isDay) return undefined;
  const instant = new Date(given.toUpperCase());
  return /^\d{4}-/.test(instant.toISOString()) ? instant : undefined;
}

/** An optional instant of RFC 3339, to the millisecond. */
export const instantParam: Input<Date | undefined> = optionalInput(
  param(
    'must be an instant of RFC 3339, such as 2026-01-31T00:00:00Z (a + is written %2B)',
    instant,
    instantIn,
  ),
);

/** The same, required, as a member of a body. */
export const instantInput: Input<Date> = param(
  'must be an instant of RFC 3339, such as 2026-01-31T00:00:00Z',
  instant,
  instantIn,
);

/** The query parameters of a call. One that is misspelt, repeated or out of range is rejected by name. */
export function readQuery<I extends Inputs>(
  query: URLSearchParams,
  inputs: I,
): Either<GatewayError, ValuesOf<I>> {
  const known = Object.keys(inputs);
  const repeated = known.find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return E.left(invalidRequest(`\`${repeated}\` must be given once.`, repeated));
  const others = known.length === 0 ? 'there are none here' : `there are ${known.join(', ')}`;
  return readInputs(
    Object.fromEntries(query),
    inputs,
    (name) => `There is no query parameter \`${name}\`; ${others}.`,
  );
}

/** `page × page_size` is at most this. Use a filter to find older rows. */
const maxReach = 100_000;

/** A page: `page` from 1, `page_size` at most 200 (rule 40.3). */
export const pageShape = { page: whole(1, maxReach, 1), page_size: whole(1, 200, 50) };

/** The requested page, and the other parameters of the list. */
export function readPage<S extends Inputs>(
  query: URLSearchParams,
  shape: S,
): Either<GatewayError, ValuesOf<S> & PageRequest>;
export function readPage(query: URLSearchParams, shape: Inputs): Either<GatewayError, PageRequest> {
  const read = readQuery(query, { ...shape, ...pageShape });
  if (E.isLeft(read)) return read;
  const { page, page_size: pageSize, ...others } = read.right;
  return page * pageSize > maxReach
    ? E.left(invalidRequest(`\`page\` times \`page_size\` must be at most ${maxReach}.`, 'page'))
    : E.right({ ...others, page, pageSize });
}
