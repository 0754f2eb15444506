import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  readCode,
  recoveryCodeCount,
  recoveryCodeOf,
  shownRecoveryCode,
  usableSteps,
} from '../../domain/identity/second-factor.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { Passwords, SessionTokens } from '../ports/admin-access.ts';
import type { OneTimeCodes, OwnAccess, OwnChange } from '../ports/second-factors.ts';
import { invalidCode, type Login, type VerifyLogin, type VerifiedLogin } from './proof.ts';

export interface SecondFactorPorts {
  readonly verifyLogin: VerifyLogin;
  readonly own: OwnAccess;
  readonly passwords: Pick<Passwords, 'seal' | 'unseal'>;
  readonly codes: OneTimeCodes;
  readonly tokens: SessionTokens;
}

/** A logged-in person who proves the password again. */
export interface OwnLogin extends Login {
  /** The token of the session that makes the call. */
  readonly token: string;
  /** The address that the call comes from, as events record it. */
  readonly remoteAddress: string;
}

/** What the authenticator is set up with, shown once. */
export type FactorSetUp = ReturnType<OneTimeCodes['setUp']>;

const alreadyEnrolled: GatewayError = {
  code: 'conflict',
  message: 'A second factor is enrolled: remove it first, DELETE /api/v1/auth/second-factor.',
};

const notBegun: GatewayError = {
  code: 'conflict',
  message: 'No enrolment is under way: begin one, POST /api/v1/auth/second-factor.',
};

const notEnrolled: GatewayError = {
  code: 'not_found',
  message: 'No second factor is enrolled.',
};

export const changedMeanwhile: GatewayError = {
  code: 'conflict',
  message: 'The password or the second factor was changed in the meantime.',
};

export const changeOf = (
  { tokens }: Pick<SecondFactorPorts, 'tokens'>,
  { token, remoteAddress }: OwnLogin,
  { person }: VerifiedLogin,
): OwnChange => ({ person, tokenSha256: tokens.digest(token), address: remoteAddress });

/** Begins an enrolment, replacing one that was begun before; logins do not ask for a code yet. */
export const beginFactor =
  (ports: SecondFactorPorts) =>
  (login: OwnLogin): Promise<Either<GatewayError, FactorSetUp>> =>
    ports.verifyLogin(login, 'not_asked', async (verified) => {
      if (verified.person.secondFactor !== undefined) return E.left(alreadyEnrolled);
      const secret = ports.codes.newSecret();
      const sealed = await ports.passwords.seal(login.password, secret);
      const begun = await ports.own.beginFactor(changeOf(ports, login, verified), sealed);
      return begun ? E.right(ports.codes.setUp(secret, verified.person.email)) : E.left(changedMeanwhile);
    });

/**
 * Completes an enrolment: a code shows that the authenticator has the secret. Returns the recovery codes, shown once.
 */
export const confirmFactor =
  (ports: SecondFactorPorts) =>
  (login: OwnLogin & { readonly code: string }): Promise<Either<GatewayError, readonly string[]>> =>
    ports.verifyLogin(login, 'not_asked', async (verified) => {
      if (verified.person.secondFactor !== undefined) return E.left(alreadyEnrolled);
      const sealedSecret = await ports.own.begunFactor(verified.person.userId);
      if (sealedSecret === undefined) return E.left(notBegun);
      const secret = await ports.passwords.unseal(login.password, sealedSecret);
      const typed = readCode(login.code);
      const lastUsedStep = usableSteps(verified.now, undefined).find(
        (step) => typed?.kind === 'totp' && ports.codes.isCodeOf(secret, step, typed.digits),
      );
      if (lastUsedStep === undefined) return E.left(invalidCode);
      const recovery = Array.from({ length: recoveryCodeCount }, () =>
        recoveryCodeOf(ports.codes.randomBase32()),
      );
      const confirmed = await ports.own.confirmFactor(
        changeOf(ports, login, verified),
        { sealedSecret, lastUsedStep },
        recovery.map((code) => ports.tokens.digest(code)),
      );
      return confirmed ? E.right(recovery.map(shownRecoveryCode)) : E.left(changedMeanwhile);
    });

/** Removes the factor and its recovery codes; a code proves that the person still has the factor. */
export const removeFactor =
  (ports: SecondFactorPorts) =>
  (login: OwnLogin & { readonly code: string }): Promise<Either<GatewayError, void>> =>
    ports.verifyLogin(login, 'if_enrolled', async (verified) => {
      if (verified.used === undefined) return E.left(notEnrolled);
      const removed = await ports.own.removeFactor(changeOf(ports, login, verified), verified.used);
      return removed ? E.right(undefined) : E.left(invalidCode);
    });
