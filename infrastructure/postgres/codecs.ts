import * as t from 'io-ts';
import { sql } from 'slonik';
import type { Cadence } from '../../domain/budget/budget.ts';
import type { Json } from '../../domain/shared/json.ts';

/** PostgreSQL's int8 and numeric(…, 0), which arrive as text. */
export const int8 = new t.Type<bigint, bigint>(
  'whole number as text',
  (value): value is bigint => typeof value === 'bigint',
  (value, context) =>
    typeof value === 'string' && /^-?\d+$/.test(value) ? t.success(BigInt(value)) : t.failure(value, context),
  t.identity,
);

/** timestamptz, which the driver maps to a Date. */
export const timestamp = new t.Type<Date, Date>(
  'instant',
  (value): value is Date => value instanceof Date,
  (value, context) => (value instanceof Date ? t.success(value) : t.failure(value, context)),
  t.identity,
);

/** A timestamptz inside a JSON value. */
export const instantText = new t.Type<Date, string>(
  'instant as text',
  (value): value is Date => value instanceof Date,
  (value, context) => {
    const at = typeof value === 'string' ? new Date(value) : undefined;
    return at === undefined || Number.isNaN(at.getTime()) ? t.failure(value, context) : t.success(at);
  },
  (value) => value.toISOString(),
);

/** json and jsonb, which the driver parses. */
export const jsonColumn = new t.Type<Json, Json>(
  'JSON',
  (value): value is Json => value !== undefined,
  (value) => t.success(value as Json),
  t.identity,
);

/** bytea, which the driver maps to a Buffer. */
export const bytes = new t.Type<Buffer, Buffer>(
  'bytes',
  (value): value is Buffer => Buffer.isBuffer(value),
  (value, context) => (Buffer.isBuffer(value) ? t.success(value) : t.failure(value, context)),
  t.identity,
);

export const nullable = <A>(codec: t.Type<A, unknown>): t.Type<A | null, unknown> => t.union([codec, t.null]);

/** A nullable column, decoded to `undefined` where it is null. */
export const orUndefined = <A>(codec: t.Type<A, unknown>): t.Type<A | undefined, unknown> =>
  new t.Type<A | undefined, unknown>(
    `${codec.name} or null`,
    (value): value is A | undefined => value === undefined || codec.is(value),
    (value, context) => (value === null ? t.success(undefined) : codec.validate(value, context)),
    t.identity,
  );

/** A token count, which fits a number: int8, which arrives as text. */
export const tokenCountColumn = new t.Type<number, number>(
  'token count as text',
  t.number.is,
  (value, context) =>
    typeof value === 'string' && Number.isSafeInteger(Number(value))
      ? t.success(Number(value))
      : t.failure(value, context),
  t.identity,
);

/** The length of a budget's windows. */
export const cadence = t.keyof({ daily: null, weekly: null, monthly: null } satisfies Record<Cadence, null>);

/** Bytes as a statement parameter. */
export const binary = (given: Uint8Array) => sql.binary(Buffer.from(given));
