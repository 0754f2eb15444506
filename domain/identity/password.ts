/** Characters of a new password: long enough that guessing it online is hopeless. */
const minPasswordChars = 12;

/** Bytes of a password: any passphrase fits, and no login makes the hash read a megabyte. */
export const maxPasswordBytes = 1024;

/** Characters of a password as it was typed: composed, no text of more has so few bytes. */
const maxTypedChars = 3 * maxPasswordBytes;

/** Characters of an e-mail address: the longest that mail can carry (RFC 5321). */
export const maxEmailChars = 254;

export const emailShape = /^[^\s@<>",;]+@[^\s@<>",;]+$/;

/** Whether an account may have this e-mail address. */
export const isEmail = (text: string): boolean =>
  text.length <= maxEmailChars &&
  emailShape.test(text) &&
  text.isWellFormed() &&
  !/[\p{Cc}\p{Cf}]/u.test(text) &&
  Array.from(text).every(isItself);

/**
 * Whether a character is a small letter, the capital of one, or no letter, and stays when it is composed. The Kelvin
 * sign and the dotted capital I become `k` and `i` in small letters, and the Greek question mark a semicolon: an address
 * with them belongs to another mailbox, and would be taken for a person's here (rule 51.25).
 */
const isItself = (character: string): boolean => {
  const small = character.toLowerCase();
  return (
    character.normalize('NFC') === character && (small === character || small.toUpperCase() === character)
  );
};

/**
 * Addresses that differ in the case of letters, or in how a keyboard composes them, are one person's. It is done here
 * and not by the database, whose small letters are those of its locale: a Turkish one makes `ı` of `I` (rule 51.26).
 */
export const foldEmail = (address: string): string => address.normalize('NFC').toLowerCase();

/** The form in which a password is hashed: the same characters, however a keyboard composes them. */
export const typedPassword = (password: string): string => password.normalize('NFC');

/** Whether a password can be one at all; decided alike for every account. */
export const isPasswordTooLong = (password: string): boolean =>
  // To normalise a text takes time with the square of its length.
  password.length > maxTypedChars ||
  new TextEncoder().encode(typedPassword(password)).length > maxPasswordBytes;

/** Why this cannot become somebody's password; undefined when it can. */
export function passwordProblem(password: string): string | undefined {
  if (isPasswordTooLong(password)) return `A password must not be longer than ${maxPasswordBytes} bytes.`;
  if (Array.from(typedPassword(password)).length < minPasswordChars)
    return `A password must have at least ${minPasswordChars} characters.`;
  return password.isWellFormed() ? undefined : 'A password must be valid Unicode text.';
}

/** The passwords that are guessed first, in lower case. */
export type CommonPasswords = Pick<ReadonlySet<string>, 'has'>;

export const commonPasswordProblem =
  'This password is one of those that are guessed first, or made of them: choose another.';

/**
 * Whether a password is a common one: in any case of letters, with digits or signs before and behind it, two of them in
 * a row, or a few characters again and again. The length alone is not enough: `password1234` is long, too.
 */
export function isCommonPassword(password: string, common: CommonPasswords): boolean {
  const folded = typedPassword(password).toLowerCase();
  const bare = folded.replaceAll(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  return [folded, bare].some(
    (form) => common.has(form) || isMadeOfTwo(form, common) || isRepeated(form, common),
  );
}

const isMadeOfTwo = (form: string, common: CommonPasswords): boolean =>
  form.length <= maxCombinedChars &&
  Array.from(form, (_, at) => at).some((at) => common.has(form.slice(0, at)) && common.has(form.slice(at)));

/** Nothing common is so long that two of them are longer. */
const maxCombinedChars = 64;

/** Fewer characters than this, again and again, are a pattern on the keyboard. */
const shortestUnit = 5;

const isRepeated = (form: string, common: CommonPasswords): boolean => {
  const unit = /^(.+?)\1+$/su.exec(form)?.[1];
  return unit !== undefined && (unit.length < shortestUnit || common.has(unit));
};
