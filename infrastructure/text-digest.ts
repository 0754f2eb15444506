import { hash } from 'node:crypto';
import type { Digest } from '../domain/responses/replay-ids.ts';

export const textDigest: Digest = (text) => hash('sha256', text, 'base64url');
