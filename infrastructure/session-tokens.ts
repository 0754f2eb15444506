import { randomBytes } from 'node:crypto';
import type { SessionTokens } from '../application/ports/admin-access.ts';
import { secretDigest } from './key-secrets.ts';

/** 256 random bits, 43 characters of base64url; kept is their SHA-256, for they are high-entropy. */
export const sessionTokens: SessionTokens = {
  create: () => randomBytes(32).toString('base64url'),
  digest: secretDigest,
};
