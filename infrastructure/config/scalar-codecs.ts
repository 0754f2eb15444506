import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import type { SecretRule, Shape } from './shape.ts';
import { hasAtMostChars } from '../../domain/text/characters.ts';

/** An io-ts codec that can describe what it accepts. */
export interface Codec<A> extends t.Decoder<unknown, A> {
  readonly shape: Shape;
}

/** The decoded type of a codec. */
export type TypeOf<C> = C extends Codec<infer A> ? A : never;

export const codecOf = <A>(
  name: string,
  shape: Shape,
  validate: (input: unknown, context: t.Context) => t.Validation<A>,
): Codec<A> =>
  Object.assign(
    new t.Type<A>(
      name,
      (u): u is A => E.isRight(validate(u, [])),
      validate,
      (a) => a,
    ),
    { shape },
  );

export interface TextRule {
  /** Completes "must be …" in messages, which never contain the value itself. */
  readonly what: string;
  /** In characters; the minimum is 1. */
  readonly maxLength: number;
  /** Anchored; also shown in the JSON Schema. */
  readonly pattern?: RegExp;
  /** A check beyond the pattern: returns a message, or `undefined` for a valid text. */
  readonly refuse?: (text: string) => string | undefined;
  readonly orNumber?: boolean;
  readonly secret?: SecretRule;
}

/** Text of the given form. A number is rejected, because YAML would have changed its digits. */
export const text = (rule: TextRule): Codec<string> =>
  codecOf(
    rule.what,
    {
      kind: 'text',
      what: rule.what,
      maxLength: rule.maxLength,
      pattern: rule.pattern?.source,
      orNumber: rule.orNumber ?? false,
      secret: rule.secret,
    },
    (input, context) => {
      if (typeof input !== 'string') {
        const hint = typeof input === 'number' || typeof input === 'boolean' ? ' (put it in quotes)' : '';
        return t.failure(input, context, `must be text: ${rule.what}${hint}`);
      }
      const fault = faultOf(rule, input);
      return fault === undefined ? t.success(input) : t.failure(input, context, fault);
    },
  );

function faultOf(rule: TextRule, input: string): string | undefined {
  if (!hasAtMostChars(input, rule.maxLength)) return `must be at most ${rule.maxLength} characters long`;
  if (input === '') return `must be ${rule.what}, and not empty`;
  if (rule.pattern !== undefined && !rule.pattern.test(input)) return `must be ${rule.what}`;
  return rule.refuse?.(input);
}

interface NumberRule {
  readonly min: number;
  readonly max: number;
  /** Completes "an integer of …": `ms`, `bytes`. */
  readonly unit?: string;
}

/** A number in `min … max`. Its decimal text is accepted too, because a `${NAME}` placeholder always yields text. */
const numeric =
  (noun: string, decimal: RegExp, integer: boolean) =>
  ({ min, max, unit }: NumberRule): Codec<number> => {
    const what = `${noun} from ${min} to ${max}${unit === undefined ? '' : ` (${unit})`}`;
    return codecOf(what, { kind: 'number', integer, minimum: min, maximum: max }, (input, context) => {
      const value = typeof input === 'string' && decimal.test(input) ? Number(input) : input;
      const fits = typeof value === 'number' && (!integer || Number.isSafeInteger(value));
      return fits && value >= min && value <= max
        ? t.success(value)
        : t.failure(input, context, `must be ${what}`);
    });
  };

export const integer = numeric('an integer', /^-?\d{1,16}$/, true);
export const number = numeric('a number', /^-?\d{1,15}(\.\d{1,15})?$/, false);

/** `true` or `false`, as a boolean or as text. */
export const boolean: Codec<boolean> = codecOf('true or false', { kind: 'boolean' }, (input, context) => {
  if (typeof input === 'boolean') return t.success(input);
  if (input === 'true' || input === 'false') return t.success(input === 'true');
  return t.failure(input, context, 'must be true or false');
});

/** One word of a closed list. */
export const choice = <const V extends string>(values: readonly V[]): Codec<V> =>
  codecOf(values.join(' | '), { kind: 'choice', values }, (input, context) => {
    const found = values.find((value) => value === input);
    return found === undefined
      ? t.failure(input, context, `must be one of: ${values.join(', ')}`)
      : t.success(found);
  });
