/** The time step of codes, in milliseconds (RFC 6238). */
export const totpStepMs = 30_000;

/** How many steps before and after the present one are accepted, for clocks that differ and people who type slowly. */
const windowSteps = 1;

/** Number of digits in a code, as every authenticator shows it. */
export const totpDigits = 6;

/** The number of recovery codes issued at enrolment, each valid once. */
export const recoveryCodeCount = 10;

/** Number of characters, in base32, which has no look-alike digits; 16 of them are 80 bits. */
const recoveryCodeChars = 16;

/** How a person proves the second factor: with a code of the authenticator, or with a recovery code. */
export type TypedCode =
  | { readonly kind: 'totp'; readonly digits: string }
  | { readonly kind: 'recovery'; readonly code: string };

const digitsShape = new RegExp(`^\\d{${totpDigits}}$`);
const recoveryShape = new RegExp(`^[a-z2-7]{${recoveryCodeChars}}$`);

/**
 * Reads a code as it was typed; blanks, dashes and letter case make no difference. `undefined` when it is not a code.
 */
export function readCode(typed: string): TypedCode | undefined {
  const plain = typed.replaceAll(/[\s-]/g, '').toLowerCase();
  if (digitsShape.test(plain)) return { kind: 'totp', digits: plain };
  return recoveryShape.test(plain) ? { kind: 'recovery', code: plain } : undefined;
}

/** A recovery code as it is displayed, in groups of four. {@link readCode} reads it back. */
export const shownRecoveryCode = (code: string): string => code.match(/.{1,4}/g)?.join('-') ?? code;

/** Makes a recovery code from random bits: {@link recoveryCodeChars} characters of base32, in lower case. */
export const recoveryCodeOf = (base32: string): string => base32.toLowerCase().slice(0, recoveryCodeChars);

/**
 * The steps whose codes are accepted at an instant, the likeliest first: the present step and one on each side. A code
 * is accepted only once, so that one that somebody has seen over a shoulder is of no use after its owner has entered
 * it.
 */
export function usableSteps(now: number, lastUsedStep: number | undefined): readonly number[] {
  const present = Math.floor(now / totpStepMs);
  return Array.from({ length: 2 * windowSteps + 1 }, (_, at) => present + windowSteps - at)
    .toSorted((a, b) => Math.abs(a - present) - Math.abs(b - present))
    .filter((step) => step >= 0 && (lastUsedStep === undefined || step > lastUsedStep));
}

/** Whether a login must still prove or enrol a second factor. */
export type SecondFactorState = 'none' | 'enrolled' | 'must_enrol';

/** Where a second factor is required, a person without one who logs in with a password may do nothing but enrol. */
export const secondFactorState = (
  { signedInBy, hasSecondFactor }: { readonly signedInBy: SignInMethod; readonly hasSecondFactor: boolean },
  isRequired: boolean,
): SecondFactorState => {
  if (hasSecondFactor) return 'enrolled';
  return isRequired && signedInBy === 'password' ? 'must_enrol' : 'none';
};

/** How a person signed in to open a session. */
export type SignInMethod = 'password' | 'oidc';

/** A person's authenticator; its secret is encrypted with a key derived from the password. */
export interface SecondFactor {
  readonly sealedSecret: Uint8Array;
  readonly lastUsedStep: number;
}

/** A code that was accepted. It is used up in the transaction of the action that it is for. */
export type UsedCode =
  | { readonly kind: 'totp'; readonly step: number }
  | { readonly kind: 'recovery'; readonly codeSha256: Uint8Array };
