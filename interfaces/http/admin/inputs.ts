import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';
import { hasAtMostChars } from '../../../domain/text/characters.ts';

/** A named value in a call: a query parameter, or a member of a body. A failure says what the value must be. */
export class Input<A> implements t.Decoder<unknown, A> {
  /** What the value must be. */
  readonly name: string;
  readonly validate: t.Validate<unknown, A>;
  /**
   * The JSON Schema (2020-12) of accepted values: never narrower than the codec, and as close to it as JSON Schema
   * allows.
   */
  readonly schema: JsonObject;
  readonly isRequired: boolean;

  constructor(must: string, validate: t.Validate<unknown, A>, schema: JsonObject, isRequired: boolean) {
    this.name = must;
    this.validate = validate;
    this.schema = schema;
    this.isRequired = isRequired;
  }

  decode(given: unknown): t.Validation<A> {
    return this.validate(given, []);
  }
}

/** An input decoded by `read`. When that returns `undefined` the value is rejected, and `must` says what it must be. */
export const input = <A>(
  must: string,
  schema: JsonObject,
  read: (given: unknown) => A | undefined,
): Input<A> =>
  new Input(
    must,
    (given, context) => {
      const value = read(given);
      return value === undefined ? t.failure(given, context, must) : t.success(value);
    },
    schema,
    true,
  );

/** The same input with a default. */
export const otherwise = <A, B extends Json | undefined>(codec: Input<A>, value: B): Input<A | B> =>
  new Input<A | B>(
    codec.name,
    (given, context) => (given === undefined ? t.success(value) : codec.validate(given, context)),
    value === undefined ? codec.schema : { ...codec.schema, default: value },
    false,
  );

/** The same input, or null, which removes the current value. */
export const nullableInput = <A>(codec: Input<A>): Input<A | null> =>
  new Input<A | null>(
    codec.name,
    (given, context) => (given === null ? t.success(null) : codec.validate(given, context)),
    { anyOf: [codec.schema, { type: 'null' }] },
    codec.isRequired,
  );

/** True or false. */
export const flagInput: Input<boolean> = input('must be a boolean', { type: 'boolean' }, (given) =>
  typeof given === 'boolean' ? given : undefined,
);

/** A whole number in a range, both ends included. */
export const integerInput = (from: number, to: number): Input<number> =>
  input(
    `must be a whole number from ${from} to ${to}`,
    { type: 'integer', minimum: from, maximum: to },
    (given) =>
      typeof given === 'number' && Number.isInteger(given) && given >= from && given <= to
        ? given
        : undefined,
  );

/** One of these words, in a body or a query. */
export const choiceInput = <const W extends string>(words: readonly [W, ...W[]]): Input<W> =>
  input(`must be one of ${words.join(', ')}`, { enum: words }, (given) =>
    words.find((each) => each === given),
  );

/** Text that a table can hold: PostgreSQL accepts neither U+0000 nor lone surrogates. */
export const textInput = (maxChars: number): Input<string> =>
  input(
    `must be text of 1 to ${maxChars} characters`,
    { type: 'string', minLength: 1, maxLength: maxChars },
    (given) =>
      typeof given === 'string' && given !== '' && hasAtMostChars(given, maxChars) && isStorable(given)
        ? given
        : undefined,
  );

export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** An optional input, `undefined` when it is omitted. */
export const optionalInput = <A>(codec: Input<A>): Input<A | undefined> => otherwise(codec, undefined);

export type Inputs = Readonly<Record<string, Input<unknown>>>;

/** The values of inputs by name. */
export type ValuesOf<I extends Inputs> = {
  readonly [K in keyof I]: I[K] extends Input<infer A> ? A : never;
};

/** Decodes inputs with their codecs. An error names the first one that is unknown, or else invalid. */
export function readInputs<I extends Inputs>(
  given: Readonly<Record<string, unknown>>,
  inputs: I,
  unknown: (name: string) => string,
): Either<GatewayError, ValuesOf<I>> {
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(inputs, name));
  if (stranger !== undefined) {
    const shown = namedKey(stranger);
    return E.left(invalidRequest(unknown(shown), shown));
  }
  const values: Record<string, unknown> = {};
  for (const [name, codec] of Object.entries(inputs)) {
    const read = codec.decode(Object.hasOwn(given, name) ? given[name] : undefined);
    if (E.isLeft(read)) return E.left(invalidRequest(`\`${name}\` ${read.left[0]?.message}.`, name));
    values[name] = read.right;
  }
  return E.right(values as ValuesOf<I>);
}
