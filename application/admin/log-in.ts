import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { newSession } from '../../domain/identity/admin-session.ts';
import { throttle } from '../../domain/identity/login-throttle.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { LoginAttempts, Passwords } from '../ports/admin-access.ts';
import type { Credentials } from './create-admin.ts';
import { loginLine, type LoginInLine, type LoginTurns } from './login-line.ts';
import type { CurrentSession, SessionPorts } from './session.ts';

export interface LogInPorts extends SessionPorts {
  readonly attempts: LoginAttempts;
  readonly passwords: Passwords;
  readonly pause: (ms: number) => Promise<void>;
}

/** Credentials, and where they come from: the client's address as logins are counted by, and its network. */
export interface Login extends Credentials, Omit<LoginInLine, 'account'> {}

export interface LoggedIn extends CurrentSession {
  /** To be handed out, and kept nowhere. */
  readonly token: string;
}

/** An unknown account and a wrong password give the same answer, after the same work. */
const invalidCredentials: GatewayError = {
  code: 'invalid_credentials',
  message: 'E-mail and password do not belong together.',
};

const tooManyAttempts = (retryAfterSecs: number): GatewayError => ({
  code: 'too_many_attempts',
  message: `Too many failed logins for this account from this address; try again in ${retryAfterSecs} seconds.`,
  retryAfterSecs,
});

const tooManyLogins: GatewayError = {
  code: 'overloaded',
  message: 'Too many logins are under way; try again.',
  retryAfterSecs: 1,
};

/** A login: counted before it is tried, delayed if others have failed, always one hash. */
export function logIn(ports: LogInPorts): (login: Login) => Promise<Either<GatewayError, LoggedIn>> {
  const inLine = loginLine();
  return async (login) =>
    (await inLine({ ...login, account: login.email }, (turns) => attempt(ports, login, turns))) ??
    E.left(tooManyLogins);
}

/** The delay is waited for between two turns: whoever guesses holds up nobody but itself. */
async function attempt(
  ports: LogInPorts,
  login: Login,
  { counting, hashing }: LoginTurns,
): Promise<Either<GatewayError, LoggedIn> | undefined> {
  const tries = await counting(() => ports.attempts.begin(login.email, login.address));
  if (tries === undefined) return undefined;
  const verdict = throttle(tries);
  if (verdict.kind === 'refused') return E.left(tooManyAttempts(verdict.retryAfterSecs));
  if (verdict.delayMs > 0) await ports.pause(verdict.delayMs);
  return hashing(() => tried(ports, login));
}

async function tried(
  { attempts, sessions, passwords, tokens }: LogInPorts,
  login: Login,
): Promise<Either<GatewayError, LoggedIn>> {
  const person = await sessions.personOf(login.email);
  const verified = await passwords.verify(person?.passwordHash, login.password);
  if (person === undefined || !verified) return E.left(invalidCredentials);

  const token = tokens.create();
  const session = await sessions.open(tokens.digest(token), person, newSession);
  if (session === undefined) return E.left(invalidCredentials);
  await attempts.forget(login.email, login.address);
  return E.right({ token, person, expiresAt: session.expiresAt });
}
