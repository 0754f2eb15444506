import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeySecrets } from '../application/ports/key-secrets.ts';
import type { PresentedKey } from '../domain/identity/api-key.ts';

/** A generated key: 32 hex of public id, 64 hex of secret. */
export const newKey = (): PresentedKey => ({
  publicId: randomBytes(16).toString('hex'),
  secret: randomBytes(32).toString('hex'),
});

/** What is stored of a key, and compared when it is presented: a SHA-256, for the secret is high-entropy. */
export const secretDigest = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** Secrets as the gateway makes them, and knows them again. */
export const secrets: KeySecrets = {
  create: newKey,
  digest: secretDigest,
  isOf: (secret, digest) => {
    const given = secretDigest(secret);
    return digest.length === given.length && timingSafeEqual(given, digest);
  },
};
