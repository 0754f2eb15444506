import { randomBytes } from 'node:crypto';

/** A key as a configuration takes it, and as a caller sends it. */
export const aKey = (): string => `gwk_${randomBytes(16).toString('hex')}.${randomBytes(32).toString('hex')}`;
