import * as fc from 'fast-check';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { anyText, digits } from './text.ts';

/** Any form of a JSON number: `9007199254740993`, `0.10`, `1e400`, `-0`, `-0.0E+07`. */
export const aNumberText: fc.Arbitrary<string> = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: digits(1, 22).map((text) => text.replace(/^0+(?=\d)/, '')),
    fraction: fc.option(digits(1, 20), { nil: undefined }),
    exponent: fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-', 'E-'), digits(1, 3)), {
      nil: undefined,
    }),
  })
  .map(({ sign, whole, fraction, exponent }) =>
    [sign, whole, fraction === undefined ? '' : `.${fraction}`, exponent?.join('') ?? ''].join(''),
  );

/** A key that engines do not move to the front, and that code might treat specially. */
export const aKey: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => `k${text}`),
  fc.constantFrom('constructor', 'toString', 'hasOwnProperty', '__proto__', 'prototype', ''),
);

/** A key that is an ordinary field name. */
export const aFieldName: fc.Arbitrary<string> = aKey.filter((key) => key !== '__proto__');

/** JSON text as `JSON.stringify` writes it, except for the form of its numbers. */
export const exactJsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    aNumberText,
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('null', 'true', 'false', '[]', '{}', '"1.50"', '"-0"'),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(aKey, tie('value')), { selector: ([key]) => key, maxLength: 4 })
      .map((pairs) => `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`),
  ),
})).value;

/** Any JSON value that `JSON.parse` returns. */
export const aJson: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 4 });

/** An object with field names as keys, on every level. */
export const aJsonObject: fc.Arbitrary<JsonObject> = fc.letrec<{ object: JsonObject; value: Json }>(
  (tie) => ({
    object: fc.dictionary(aFieldName, tie('value'), { maxKeys: 5, noNullPrototype: true }),
    value: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.constantFrom(null, true, 0, 1.5, -3, 'text', '', '}', '"', '\\', ','),
      anyText.map((text) => text.toWellFormed()),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
  }),
).object;

const blanks = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 2 });

/** A string literal, with any of its characters escaped. */
export const literalOf = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom('plain', 'lower', 'upper'), {
      minLength: text.length,
      maxLength: text.length,
    })
    .map((spellings) => {
      const units = text.split('').map((unit, index) => {
        const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
        if (spellings[index] === 'lower') return `\\u${hex}`;
        if (spellings[index] === 'upper') return `\\u${hex.toUpperCase()}`;
        return isSurrogate(unit) ? `\\u${hex}` : JSON.stringify(unit).slice(1, -1);
      });
      return `"${units.join('')}"`;
    });

const isSurrogate = (unit: string): boolean => unit >= '\uD800' && unit <= '\uDFFF';

/** The same value in other JSON text: with white space and escapes. */
export function writtenOf(value: Json | undefined): fc.Arbitrary<string> {
  if (typeof value === 'string') return literalOf(value);
  if (typeof value !== 'object' || value === null) return fc.constant(JSON.stringify(value) ?? 'null');
  if (Array.isArray(value))
    return listOf(
      '[',
      value.map((item: Json) => writtenOf(item)),
      ']',
    );
  const members = Object.entries(value).map(([key, inner]) =>
    fc
      .tuple(literalOf(key), blanks, blanks, writtenOf(inner))
      .map(([name, before, after, text]) => `${name}${before}:${after}${text}`),
  );
  return listOf('{', members, '}');
}

const listOf = (open: string, items: readonly fc.Arbitrary<string>[], close: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.tuple(...items.map((item) => fc.tuple(blanks, item, blanks).map((parts) => parts.join('')))),
      blanks,
    )
    .map(([texts, blank]) => `${open}${texts.length === 0 ? blank : texts.join(',')}${close}`);
