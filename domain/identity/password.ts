/** Minimum number of characters in a new password: enough that guessing it online is hopeless. */
export const minPasswordChars = 12;

/** Maximum number of bytes in a password: any passphrase fits, and no login makes the hash read a megabyte. */
export const maxPasswordBytes = 1024;

/**
 * Maximum number of characters in a password as it was typed. A longer text has more than `maxPasswordBytes` bytes even
 * when it is composed.
 */
const maxTypedChars = 3 * maxPasswordBytes;

/** Maximum number of characters in an e-mail address: the longest that mail can carry (RFC 5321). */
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
 * Whether a character is a lower-case letter, the capital of one, or no letter, and stays the same when it is composed.
 * The Kelvin sign becomes `k` in lower case, the dotted capital I an `i` with a combining dot, and the Greek question
 * mark a semicolon when composed. An address with such a character belongs to another mailbox, but could be taken for
 * the address of a person here (rule 51.25).
 */
const isItself = (character: string): boolean => {
  const small = character.toLowerCase();
  return (
    character.normalize('NFC') === character && (small === character || small.toUpperCase() === character)
  );
};

/**
 * Addresses that differ only in letter case, or in how a keyboard composes them, belong to one person. The folding is
 * done here and not in the database, whose lower case depends on its locale: a Turkish one turns `I` into `ı`
 * (rule 51.26).
 */
export const foldEmail = (address: string): string => address.normalize('NFC').toLowerCase();

/** The form of a password that is hashed: the same characters, however a keyboard composes them. */
export const typedPassword = (password: string): string => password.normalize('NFC');

/** Whether a password is too long to be anyone's; the answer is the same for every account. */
export const isPasswordTooLong = (password: string): boolean =>
  // Normalising a text can take time quadratic in its length.
  password.length > maxTypedChars ||
  new TextEncoder().encode(typedPassword(password)).length > maxPasswordBytes;

/** Why this cannot become a password; `undefined` when it can. */
export function passwordProblem(password: string): string | undefined {
  if (isPasswordTooLong(password)) return `A password must not be longer than ${maxPasswordBytes} bytes.`;
  if (Array.from(typedPassword(password)).length < minPasswordChars)
    return `A password must have at least ${minPasswordChars} characters.`;
  // The line break that ends a variable from a Secret or a file cannot be typed at a login.
  if (/\p{Cc}/u.test(password))
    return 'A password must not have a control character, such as a line break at its end.';
  return password.isWellFormed() ? undefined : 'A password must be valid Unicode text.';
}

/** The passwords that are guessed first, in lower case. */
export type CommonPasswords = Pick<ReadonlySet<string>, 'has'>;

export const commonPasswordProblem =
  'This password is one of those that are guessed first, or made of them: choose another.';

/**
 * Whether a password is a common one: in any letter case, with digits or signs before or after it, two of them in a
 * row, or a few characters repeated. Length alone is not enough: `password1234` is long, too.
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

/** Longer than any two common passwords together. */
const maxCombinedChars = 64;

/** A repeated unit of fewer characters than this is a keyboard pattern. */
const shortestUnit = 5;

const isRepeated = (form: string, common: CommonPasswords): boolean => {
  const unit = /^(.+?)\1+$/su.exec(form)?.[1];
  return unit !== undefined && (unit.length < shortestUnit || common.has(unit));
};
