import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { OneTimeCodes } from '../../application/ports/second-factors.ts';
import { totpDigits, totpStepMs } from '../../domain/identity/second-factor.ts';

/** As long as the hash, as RFC 4226 recommends. */
const secretBytes = 20;

/** Authenticators show it beside the person's e-mail address. */
const issuer = 'Model gateway';

/** SHA-1, as several authenticators ignore any other algorithm that the link names. */
const algorithm = 'SHA1';

const secretOf = (bytes: Uint8Array): Secret => new Secret({ buffer: new Uint8Array(bytes).buffer });

const totpOf = (secret: Secret, email: string): TOTP =>
  new TOTP({ issuer, label: email, secret, algorithm, digits: totpDigits, period: totpStepMs / 1000 });

/** RFC 6238, implemented by the library. */
export const oneTimeCodes: OneTimeCodes = {
  newSecret: () => randomBytes(secretBytes),
  isCodeOf: (secret, step, digits) =>
    totpOf(secretOf(secret), '').validate({ token: digits, timestamp: step * totpStepMs, window: 0 }) === 0,
  setUp: (bytes, email) => {
    const secret = secretOf(bytes);
    return { secret: secret.base32, otpauthUri: totpOf(secret, email).toString() };
  },
  randomBase32: () => secretOf(randomBytes(secretBytes)).base32,
};
