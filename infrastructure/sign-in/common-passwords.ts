import { dictionary } from '@zxcvbn-ts/language-common';
import type { CommonPasswords } from '../../domain/identity/password.ts';

/** The 49,000 that leaked most often, in lower case; loaded where a password is set, and nowhere else. */
export const commonPasswords: CommonPasswords = new Set(dictionary['passwords-common']);
