/** Characters of a new password: long enough that guessing it online is hopeless. */
const minPasswordChars = 12;

/** Bytes of a password: any passphrase fits, and no login makes the hash read a megabyte. */
export const maxPasswordBytes = 1024;

/** Characters of an e-mail address: the longest that mail can carry (RFC 5321). */
export const maxEmailChars = 254;

const emailShape = /^[^\s@<>",;]+@[^\s@<>",;]+$/;

/** Whether an account may be made with this e-mail address; the same rule as the configuration's. */
export const isEmail = (text: string): boolean =>
  text.length <= maxEmailChars && emailShape.test(text) && text.isWellFormed() && !/\p{Cc}/u.test(text);

/** The form in which a password is hashed: the same characters, however a keyboard composes them. */
export const typedPassword = (password: string): string => password.normalize('NFC');

/** Whether a password can be one at all; decided alike for every account. */
export const isPasswordTooLong = (password: string): boolean =>
  new TextEncoder().encode(typedPassword(password)).length > maxPasswordBytes;

/** Why this cannot become somebody's password; undefined when it can. */
export function passwordProblem(password: string): string | undefined {
  if (Array.from(typedPassword(password)).length < minPasswordChars)
    return `A password must have at least ${minPasswordChars} characters.`;
  if (isPasswordTooLong(password)) return `A password must not be longer than ${maxPasswordBytes} bytes.`;
  return password.isWellFormed() ? undefined : 'A password must be valid Unicode text.';
}
