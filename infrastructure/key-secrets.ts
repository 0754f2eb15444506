import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeySecrets } from '../application/ports/key-secrets.ts';
import type { PresentedKey } from '../domain/identity/api-key.ts';

/** A generated key: a public id of 32 hex digits, and a secret of 64. */
export const newKey = (): PresentedKey => ({
  publicId: randomBytes(16).toString('hex'),
  secret: randomBytes(32).toString('hex'),
});

/**
 * The digest that is stored for a key and compared with the presented one. SHA-256 is enough, as the secret is
 * high-entropy.
 */
export const secretDigest = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** Generates and verifies the gateway's secrets. */
export const secrets: KeySecrets = {
  create: newKey,
  digest: secretDigest,
  isOf: (secret, digest) => {
    const given = secretDigest(secret);
    return digest.length === given.length && timingSafeEqual(given, digest);
  },
};
