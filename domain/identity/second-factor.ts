/** How long one code lasts (RFC 6238). */
export const totpStepMs = 30_000;

/** Steps before and after the present one whose codes count too: telephones' clocks, and slow fingers. */
const windowSteps = 1;

/** Codes of this many digits, as every authenticator shows them. */
export const totpDigits = 6;

/** Handed out at enrolment, each good once. */
export const recoveryCodeCount = 10;

/** Base32 without a sign that could be two; 16 of them are 80 bits. */
const recoveryCodeChars = 16;

/** How a person proves the second factor: by what the authenticator shows, or by a recovery code. */
export type TypedCode =
  | { readonly kind: 'totp'; readonly digits: string }
  | { readonly kind: 'recovery'; readonly code: string };

const digitsShape = new RegExp(`^\\d{${totpDigits}}$`);
const recoveryShape = new RegExp(`^[a-z2-7]{${recoveryCodeChars}}$`);

/** A code as it was typed: blanks, dashes and the case of letters make no difference. Undefined: it is none. */
export function readCode(typed: string): TypedCode | undefined {
  const plain = typed.replaceAll(/[\s-]/g, '').toLowerCase();
  if (digitsShape.test(plain)) return { kind: 'totp', digits: plain };
  return recoveryShape.test(plain) ? { kind: 'recovery', code: plain } : undefined;
}

/** A recovery code as it is shown: groups of four. {@link readCode} reads it back. */
export const shownRecoveryCode = (code: string): string => code.match(/.{1,4}/g)?.join('-') ?? code;

/** The recovery code that random bits make: {@link recoveryCodeChars} characters of base32, in lower case. */
export const recoveryCodeOf = (base32: string): string => base32.toLowerCase().slice(0, recoveryCodeChars);

/**
 * The steps whose codes are good at an instant, the likeliest first: one step around the present one, and each only
 * once, so that a code that somebody looked at over a shoulder is used up.
 */
export function usableSteps(now: number, lastUsedStep: number | undefined): readonly number[] {
  const present = Math.floor(now / totpStepMs);
  return Array.from({ length: 2 * windowSteps + 1 }, (_, at) => present + windowSteps - at)
    .toSorted((a, b) => Math.abs(a - present) - Math.abs(b - present))
    .filter((step) => step >= 0 && (lastUsedStep === undefined || step > lastUsedStep));
}

/** What a login must still do. */
export type SecondFactorState = 'none' | 'enrolled' | 'must_enrol';

/** A person who logs in by password may do nothing but enrol, where a second factor is required and there is none. */
export const secondFactorState = (
  { signedInBy, hasSecondFactor }: { readonly signedInBy: SignInMethod; readonly hasSecondFactor: boolean },
  isRequired: boolean,
): SecondFactorState => {
  if (hasSecondFactor) return 'enrolled';
  return isRequired && signedInBy === 'password' ? 'must_enrol' : 'none';
};

/** How a session was opened. */
export type SignInMethod = 'password' | 'oidc';

/** The authenticator of a person, its secret encrypted with a key that the password makes. */
export interface SecondFactor {
  readonly sealedSecret: Uint8Array;
  readonly lastUsedStep: number;
}

/** A code that was found good, and is used up in the transaction of what it is for. */
export type UsedCode =
  | { readonly kind: 'totp'; readonly step: number }
  | { readonly kind: 'recovery'; readonly codeSha256: Uint8Array };
