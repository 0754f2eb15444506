import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { newSession } from '../../domain/identity/admin-session.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { AdminSessions, SessionTokens } from '../ports/admin-access.ts';
import { invalidCode, invalidCredentials, type Login, type VerifyLogin } from './proof.ts';
import type { CurrentSession } from './session.ts';

export interface LogInPorts {
  readonly verifyLogin: VerifyLogin;
  readonly sessions: Pick<AdminSessions, 'open'>;
  readonly tokens: SessionTokens;
}

export interface LoggedIn extends CurrentSession {
  /** For the caller only; it is not stored. */
  readonly token: string;
}

/** A login: counted before it is tried, delayed after failed attempts, with a code if a second factor is enrolled. */
export const logIn =
  ({ verifyLogin, sessions, tokens }: LogInPorts) =>
  (login: Login): Promise<Either<GatewayError, LoggedIn>> =>
    verifyLogin(login, 'if_enrolled', async ({ person, used }) => {
      const token = tokens.create();
      const session = await sessions.open(tokens.digest(token), person, newSession, used);
      if (session === undefined) return E.left(used === undefined ? invalidCredentials : invalidCode);
      return E.right({ token, person, expiresAt: session.expiresAt, hasPassword: true });
    });
