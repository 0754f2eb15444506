import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { maxNamedKeyChars } from '../../../domain/shared/limits.ts';

/** The value under one name of a call: a query parameter, or a member of a body. A failure says what it must be. */
export type Input<A> = t.Decoder<unknown, A>;

const inputOf = <A>(name: string, validate: Input<A>['validate']): Input<A> =>
  new t.Type<A, unknown>(
    name,
    (given): given is A => E.isRight(validate(given, [])),
    validate,
    (value) => value,
  );

/** An input that `read` makes a value of; undefined: the value is rejected, and `must` says what it must be. */
export const input = <A>(must: string, read: (given: unknown) => A | undefined): Input<A> =>
  inputOf(must, (given, context) => {
    const value = read(given);
    return value === undefined ? t.failure(given, context, must) : t.success(value);
  });

/** The same, and what stands for one that was not given. */
export const otherwise = <A, B>(codec: Input<A>, value: B): Input<A | B> =>
  inputOf<A | B>(codec.name, (given, context) =>
    given === undefined ? t.success(value) : codec.validate(given, context),
  );

/** An input that may be left out, and is undefined then. */
export const optionalInput = <A>(codec: Input<A>): Input<A | undefined> => otherwise(codec, undefined);

export type Inputs = Readonly<Record<string, Input<unknown>>>;

/** The values of inputs, under their names. */
export type ValuesOf<I extends Inputs> = {
  readonly [K in keyof I]: I[K] extends Input<infer A> ? A : never;
};

/** Reads inputs by their codecs; an error names the first that is not what it must be, or that nobody knows. */
export function readInputs<I extends Inputs>(
  given: Readonly<Record<string, unknown>>,
  inputs: I,
  unknown: (name: string) => string,
): Either<GatewayError, ValuesOf<I>> {
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(inputs, name));
  if (stranger !== undefined) {
    const shown = stranger.slice(0, maxNamedKeyChars);
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
