import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { commonPasswordProblem, isEmail, passwordProblem } from '../../domain/identity/password.ts';
import type { Admins, AdminSessions, Passwords } from '../ports/admin-access.ts';

export interface CreateAdminPorts {
  readonly admins: Admins;
  readonly passwords: NewPasswords;
}

type NewPasswords = Pick<Passwords, 'hash' | 'isCommon'>;

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** Why this cannot be used as a password; `undefined` when it can. */
export const newPasswordFault = async (
  passwords: Pick<Passwords, 'isCommon'>,
  password: string,
): Promise<string | undefined> =>
  passwordProblem(password) ?? ((await passwords.isCommon(password)) ? commonPasswordProblem : undefined);

const faultOf = async (
  passwords: NewPasswords,
  { email, password }: Credentials,
): Promise<string | undefined> =>
  isEmail(email)
    ? newPasswordFault(passwords, password)
    : `${JSON.stringify(email)} is not an e-mail address.`;

/** Creates or promotes a platform admin, and sets the password. Left: what is wrong. */
export const createAdmin =
  ({ admins, passwords }: CreateAdminPorts) =>
  async (credentials: Credentials): Promise<Either<string, void>> => {
    const fault = await faultOf(passwords, credentials);
    if (fault !== undefined) return E.left(fault);
    return E.right(await admins.set(credentials.email, await passwords.hash(credentials.password)));
  };

/** Creates the first platform admin, if none has a password. True when it was created now. */
export const createFirstAdmin =
  ({ admins, passwords }: CreateAdminPorts) =>
  async (credentials: Credentials): Promise<Either<string, boolean>> => {
    if (await admins.exist()) return E.right(false);
    const fault = await faultOf(passwords, credentials);
    if (fault !== undefined) return E.left(fault);
    return E.right(await admins.setFirst(credentials.email, await passwords.hash(credentials.password)));
  };

/** Whether these are the address and the password of a platform admin. */
export const isAdmin =
  (ports: {
    readonly sessions: Pick<AdminSessions, 'personOf'>;
    readonly passwords: Pick<Passwords, 'verify'>;
  }) =>
  async ({ email, password }: Credentials): Promise<boolean> => {
    const person = await ports.sessions.personOf(email);
    return person?.role === 'platform_admin' && ports.passwords.verify(person.passwordHash, password);
  };
