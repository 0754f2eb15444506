import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import type { Passwords } from '../ports/admin-access.ts';
import { newPasswordFault } from './create-admin.ts';
import { changedMeanwhile, changeOf, type OwnLogin, type SecondFactorPorts } from './second-factor.ts';

export interface ChangePasswordPorts extends Omit<SecondFactorPorts, 'codes' | 'passwords'> {
  readonly passwords: Pick<Passwords, 'hash' | 'isCommon' | 'seal' | 'unseal'>;
}

/** Changes a person's own password. The current one proves who asks; the person's other sessions end. */
export const changePassword =
  (ports: ChangePasswordPorts) =>
  async (login: OwnLogin & { readonly newPassword: string }): Promise<Either<GatewayError, void>> => {
    const { passwords } = ports;
    const { password, newPassword } = login;
    const fault = await newPasswordFault(passwords, newPassword);
    if (fault !== undefined) return E.left(invalidRequest(fault, 'new_password'));
    return ports.verifyLogin(login, 'not_asked', async (verified) => {
      const sealed = verified.person.secondFactor?.sealedSecret;
      const resealed =
        sealed === undefined
          ? undefined
          : await passwords.seal(newPassword, await passwords.unseal(password, sealed));
      const hash = await passwords.hash(newPassword);
      const changed = await ports.own.changePassword(changeOf(ports, login, verified), hash, resealed);
      return changed ? E.right(undefined) : E.left(changedMeanwhile);
    });
  };
