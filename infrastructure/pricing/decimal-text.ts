import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pricePerToken } from '../../domain/money/money.ts';
import { NumberText } from './number-text.ts';

/** The number grammar of JSON (RFC 8259 §6): sign, whole part, fraction, exponent. */
const jsonNumber = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The longest text of a number that is read: a binary double needs 25 characters, so 100 is no price. */
const maxSourceLength = 100;

/** The largest exponent that is expanded: nothing beyond the 308 of a double is meant as a price. */
const maxExponent = 400;

/**
 * `source × 10^places` as plain decimal text without trailing zeros, made by moving the decimal point, never through a
 * binary fraction. `undefined` if `source` is not a JSON number, or is longer or has a larger exponent than any price.
 */
export function shiftDecimal(source: string, places: number): string | undefined {
  const parts = source.length > maxSourceLength ? null : jsonNumber.exec(source);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  if (Math.abs(Number(exponent)) > maxExponent) return undefined;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent) + places;
  const padded = digits.padStart(digits.length - Math.min(point - 1, 0), '0').padEnd(point, '0');
  const at = Math.max(point, 1);
  const integer = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const decimals = padded.slice(at).replace(/0+$/, '');
  const text = decimals === '' ? integer : `${integer}.${decimals}`;
  return text === '0' ? text : sign + text;
}

/** Whether both are numbers of the same value. */
export const isSameNumber = (one: unknown, other: unknown): boolean =>
  one instanceof NumberText &&
  other instanceof NumberText &&
  shiftDecimal(one.source, 0) === shiftDecimal(other.source, 0);

/** Whether decimal text from `shiftDecimal` is zero. */
export const isZero = (decimal: string): boolean => decimal === '0';

/**
 * The text of a price in USD per million tokens, from a JSON number `source` in units of 10^−places USD per million.
 * The error says why the catalogue cannot carry it exactly with at most 6 decimals (rule 36.1).
 */
export function priceText(source: string, places: number): Either<string, string> {
  const text = shiftDecimal(source, places);
  if (text === undefined) return E.left('not a number that a price could be');
  if (text.startsWith('-')) return E.left(`negative: ${text} USD per million`);
  const [, decimals = ''] = text.split('.');
  if (decimals.length > 6) return E.left(`more than 6 decimals: ${text} USD per million`);
  return pricePerToken(text) === undefined ? E.left('larger than any price') : E.right(text);
}
