import { hash, randomBytes } from 'node:crypto';
import type { PresentedKey } from '../domain/identity/api-key.ts';

/** A generated key: 32 hex of public id, 64 hex of secret. */
export const newKey = (): PresentedKey => ({
  publicId: randomBytes(16).toString('hex'),
  secret: randomBytes(32).toString('hex'),
});

/** What is stored of a key, and compared when it is presented: a SHA-256, for the secret is high-entropy. */
export const secretDigest = (secret: string): Buffer => hash('sha256', secret, 'buffer');
