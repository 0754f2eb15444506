import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isEmail, passwordProblem } from '../../domain/identity/password.ts';
import type { Admins, Passwords } from '../ports/admin-access.ts';

export interface CreateAdminPorts {
  readonly admins: Admins;
  readonly passwords: Pick<Passwords, 'hash'>;
}

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

const faultOf = ({ email, password }: Credentials): string | undefined =>
  isEmail(email) ? passwordProblem(password) : `${JSON.stringify(email)} is not an e-mail address.`;

/** A platform admin with this password: made, promoted, or given the new password. On the left: what is wrong. */
export const createAdmin =
  ({ admins, passwords }: CreateAdminPorts) =>
  async (credentials: Credentials): Promise<Either<string, void>> => {
    const fault = faultOf(credentials);
    if (fault !== undefined) return E.left(fault);
    return E.right(await admins.set(credentials.email, await passwords.hash(credentials.password)));
  };

/** The first platform admin: made when none has a password. True when it was made now. */
export const createFirstAdmin =
  ({ admins, passwords }: CreateAdminPorts) =>
  async (credentials: Credentials): Promise<Either<string, boolean>> => {
    if (await admins.exist()) return E.right(false);
    const fault = faultOf(credentials);
    if (fault !== undefined) return E.left(fault);
    return E.right(await admins.setFirst(credentials.email, await passwords.hash(credentials.password)));
  };
