import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { foldEmail } from '../../domain/identity/password.ts';
import { throttle } from '../../domain/identity/login-throttle.ts';
import { readCode, usableSteps, type UsedCode } from '../../domain/identity/second-factor.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type {
  AdminSessions,
  LoginAttempts,
  Passwords,
  PersonWithPassword,
  SessionTokens,
} from '../ports/admin-access.ts';
import type { OneTimeCodes } from '../ports/second-factors.ts';
import type { Credentials } from './create-admin.ts';
import { loginQueue, type QueuedLogin, type LoginTurns } from './login-queue.ts';

export interface ProofPorts {
  readonly sessions: Pick<AdminSessions, 'personOf'>;
  readonly tokens: Pick<SessionTokens, 'digest'>;
  readonly attempts: LoginAttempts;
  readonly passwords: Pick<Passwords, 'verify' | 'unseal'>;
  readonly codes: Pick<OneTimeCodes, 'isCodeOf'>;
  readonly pause: (ms: number) => Promise<void>;
  /** `admin_auth.password_login` in the current configuration. */
  readonly passwordLogin: () => boolean;
}

/** Credentials, and where they come from: the client's address, by which logins are counted, and its network. */
export interface Login extends Credentials, Omit<QueuedLogin, 'account'> {
  /** A code of the authenticator, or a recovery code. */
  readonly code?: string | undefined;
}

/** A person whose identity is proved. */
export interface VerifiedLogin {
  readonly person: PersonWithPassword;
  /** The code, to be consumed by the action that the proof is for; `undefined` when none was asked for. */
  readonly used: UsedCode | undefined;
  /** The database's time. */
  readonly now: number;
}

/** Whether the second factor is asked for, if there is one. */
export type SecondFactorCheck = 'if_enrolled' | 'not_asked';

/**
 * Runs `then` for a person who proves their identity, in the same turn, so that hashes are computed one after the
 * other.
 */
export type VerifyLogin = <A>(
  login: Login,
  asked: SecondFactorCheck,
  then: (verified: VerifiedLogin) => Promise<Either<GatewayError, A>>,
) => Promise<Either<GatewayError, A>>;

/** An unknown account and a wrong password give the same answer, after the same work. */
export const invalidCredentials: GatewayError = {
  code: 'invalid_credentials',
  message: 'E-mail and password do not belong together.',
};

export const invalidCode: GatewayError = {
  code: 'invalid_credentials',
  message: 'This code is wrong, has passed, or was used already.',
  param: 'code',
};

const secondFactorRequired: GatewayError = {
  code: 'second_factor_required',
  message: 'Send `code` too: what the authenticator shows, or a recovery code.',
  param: 'code',
};

const tooManyAttempts = (retryAfterSecs: number): GatewayError => ({
  code: 'too_many_attempts',
  message: `Too many failed logins for this account from this address; try again in ${retryAfterSecs} seconds.`,
  retryAfterSecs,
});

const tooManyCodes = (retryAfterSecs: number): GatewayError => ({
  code: 'too_many_attempts',
  message: `Too many wrong codes for this account; try again in ${retryAfterSecs} seconds.`,
  retryAfterSecs,
});

const passwordsAreOff: GatewayError = {
  code: 'not_supported',
  message:
    'Passwords are turned off here (`admin_auth.password_login`): sign in at GET /api/v1/auth/oidc/start.',
};

const tooManyLogins: GatewayError = {
  code: 'overloaded',
  message: 'Too many logins are under way; try again.',
  retryAfterSecs: 1,
};

/** Proofs of all kinds share one line, and count as login attempts. */
export function loginVerifier(ports: ProofPorts): VerifyLogin {
  const inLine = loginQueue();
  return async (login, asked, then) => {
    if (!ports.passwordLogin()) return E.left(passwordsAreOff);
    const line = { ...login, account: foldEmail(login.email) };
    return (
      (await inLine(line, (turns) => attempt(ports, login, asked, turns, then))) ?? E.left(tooManyLogins)
    );
  };
}

/** The delay is spent between two turns, so that guessing delays nobody else. */
async function attempt<A>(
  ports: ProofPorts,
  login: Login,
  asked: SecondFactorCheck,
  { counting, hashing }: LoginTurns,
  then: (verified: VerifiedLogin) => Promise<Either<GatewayError, A>>,
): Promise<Either<GatewayError, A> | undefined> {
  const tries = await counting(() => ports.attempts.begin(login.email, login.address));
  if (tries === undefined) return undefined;
  const verdict = throttle(tries);
  if (verdict.kind === 'refused') return E.left(tooManyAttempts(verdict.retryAfterSecs));
  if (verdict.delayMs > 0) await ports.pause(verdict.delayMs);
  return hashing(async () => {
    const verified = await proof(ports, login, asked, tries.now);
    if (E.isLeft(verified)) return verified;
    const done = await then(verified.right);
    if (E.isRight(done)) await forget(ports, login, verified.right);
    return done;
  });
}

async function proof(
  ports: ProofPorts,
  login: Login,
  asked: SecondFactorCheck,
  now: number,
): Promise<Either<GatewayError, VerifiedLogin>> {
  const person = await ports.sessions.personOf(login.email);
  const verified = await ports.passwords.verify(person?.passwordHash, login.password);
  if (person === undefined || !verified) return E.left(invalidCredentials);
  if (person.secondFactor === undefined || asked === 'not_asked')
    return E.right({ person, used: undefined, now });
  if (login.code === undefined) return E.left(secondFactorRequired);
  const used = await usedCode(ports, person, login.password, login.code);
  return E.isLeft(used) ? used : E.right({ person, used: used.right, now });
}

/**
 * Codes are counted by account alone. Only somebody who knows the password gets this far, so nobody else can lock the
 * person out, and using many addresses does not make guessing a million codes worthwhile.
 */
async function usedCode(
  { attempts, passwords, codes, tokens }: ProofPorts,
  { userId, secondFactor }: PersonWithPassword,
  password: string,
  code: string,
): Promise<Either<GatewayError, UsedCode>> {
  const tries = await attempts.begin(codesOf(userId), anyAddress);
  const verdict = throttle(tries);
  if (verdict.kind === 'refused') return E.left(tooManyCodes(verdict.retryAfterSecs));
  const typed = readCode(code);
  if (typed === undefined || secondFactor === undefined) return E.left(invalidCode);
  if (typed.kind === 'recovery') return E.right({ kind: 'recovery', codeSha256: tokens.digest(typed.code) });
  const secret = await passwords.unseal(password, secondFactor.sealedSecret);
  const step = usableSteps(tries.now, secondFactor.lastUsedStep).find((each) =>
    codes.isCodeOf(secret, each, typed.digits),
  );
  return step === undefined ? E.left(invalidCode) : E.right({ kind: 'totp', step });
}

const codesOf = (userId: string): string => `codes of ${userId}`;

/** No address: attempts are counted wherever they come from. */
const anyAddress = '';

async function forget(
  { attempts }: ProofPorts,
  login: Login,
  { person, used }: VerifiedLogin,
): Promise<void> {
  await attempts.forget(login.email, login.address);
  if (used !== undefined) await attempts.forget(codesOf(person.userId), anyAddress);
}
