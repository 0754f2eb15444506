const plus = 0x2b;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const lowerCase = 0x20;
const letterE = 0x65;

/** The position after all characters that may be part of a number. */
export function numberEnd(text: string, from: number): number {
  let to = from;
  for (let code = text.charCodeAt(to); isOfNumber(code); code = text.charCodeAt(to)) to += 1;
  return to;
}

const isOfNumber = (code: number): boolean =>
  (code >= zero && code <= nine) ||
  code === point ||
  code === minus ||
  code === plus ||
  (code | lowerCase) === letterE;

/** A whole number with at most this many digits has only one spelling, and any double holds it exactly. */
const maxPlainDigits = 15;

/** Whether the number would be spelled differently after being parsed and printed. */
export function isInexact(digits: string): boolean {
  return (digits.length > maxPlainDigits || !plain.test(digits)) && String(Number(digits)) !== digits;
}

const plain = /^\d+$/;

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export const isNumber = (digits: string): boolean => number.test(digits);

/** Safely within PostgreSQL's `numeric`, which has 131,072 digits before the point and 16,383 after it. */
const maxNumberChars = 8000;

/** Whether PostgreSQL's `numeric` is certain to hold the number. */
export function isHoldable(digits: string): boolean {
  if (digits.length > maxNumberChars) return false;
  const at = Math.max(digits.indexOf('e'), digits.indexOf('E'));
  return at < 0 || Math.abs(Number(digits.slice(at + 1))) <= maxNumberChars;
}
