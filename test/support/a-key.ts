import { randomBytes } from 'node:crypto';

/** A key in the form of configuration files and request headers. */
export const aKey = (): string => `gwk_${randomBytes(16).toString('hex')}.${randomBytes(32).toString('hex')}`;
