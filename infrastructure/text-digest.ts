import { hash } from 'node:crypto';
import type { Digest } from '../domain/shared/digest.ts';

export const textDigest: Digest = (text) => hash('sha256', text, 'base64url');
