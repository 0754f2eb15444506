import { dictionary } from '@zxcvbn-ts/language-common';
import type { CommonPasswords } from '../../domain/identity/password.ts';

/** The 49,000 most often leaked passwords, in lower case; loaded only where a password is set. */
export const commonPasswords: CommonPasswords = new Set(dictionary['passwords-common']);
