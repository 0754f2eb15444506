import { randomBytes } from 'node:crypto';
import type { SessionTokens } from '../application/ports/admin-access.ts';
import { secretDigest } from './key-secrets.ts';

/** 256 random bits, 43 characters of base64url. Their SHA-256 is stored, as they are high-entropy. */
export const sessionTokens: SessionTokens = {
  create: () => randomBytes(32).toString('base64url'),
  digest: secretDigest,
};
