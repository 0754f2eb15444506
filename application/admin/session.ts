import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { sessionAt } from '../../domain/identity/admin-session.ts';
import {
  type SecondFactorState,
  secondFactorState,
  type SignInMethod,
} from '../../domain/identity/second-factor.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { AdminSessions, Person, SessionTokens } from '../ports/admin-access.ts';

export interface SessionPorts {
  readonly sessions: AdminSessions;
  readonly tokens: SessionTokens;
}

/** The person who is logged in, and until when. */
export interface CurrentSession {
  readonly person: Person;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** False for a person who can sign in only at the identity provider. */
  readonly hasPassword: boolean;
}

/** The same, and how the person signed in. */
export interface SignedIn extends CurrentSession {
  readonly signedInBy: SignInMethod;
  readonly secondFactor: SecondFactorState;
}

/** `admin_auth` in the current configuration. */
export interface SignInPolicy {
  /** The available ways of signing in; a session of any other is over. */
  readonly methods: readonly SignInMethod[];
  readonly requireSecondFactor: boolean;
}

export interface CurrentSessionPorts extends SessionPorts {
  readonly policy: () => SignInPolicy;
}

const sessionRequired: GatewayError = {
  code: 'session_required',
  message: 'Log in first: POST /api/v1/auth/login with `email` and `password`.',
};

const adminRequired: GatewayError = {
  code: 'admin_required',
  message: 'Only platform admins may do this.',
};

const enrolmentRequired: GatewayError = {
  code: 'enrolment_required',
  message: 'Enrol a second factor first: POST /api/v1/auth/second-factor with `password`.',
};

/** A session with all rights of a session: not one that can only enrol. */
const fullSession = (current: SignedIn): Either<GatewayError, CurrentSession> =>
  current.secondFactor === 'must_enrol' ? E.left(enrolmentRequired) : E.right(current);

/** The session of a token, including one that can only enrol. Role and revocation are read at each request. */
export const anySession =
  ({ sessions, tokens, policy }: CurrentSessionPorts) =>
  async (token: string | undefined): Promise<Either<GatewayError, SignedIn>> => {
    if (token === undefined) return E.left(sessionRequired);
    const digest = tokens.digest(token);
    const found = await sessions.find(digest);
    const { methods, requireSecondFactor } = policy();
    if (found === undefined || !methods.includes(found.signedInBy)) return E.left(sessionRequired);
    const state = sessionAt(found.session, found.now);
    if (state.kind === 'over') return E.left(sessionRequired);
    if (state.kind === 'moved') await sessions.note(digest, state.session);
    return E.right({
      person: found.person,
      expiresAt: state.session.expiresAt,
      hasPassword: found.hasPassword,
      signedInBy: found.signedInBy,
      secondFactor: secondFactorState(found, requireSecondFactor),
    });
  };

/** The session of a token, unless it can only enrol. */
export const currentSession = (
  ports: CurrentSessionPorts,
): ((token: string | undefined) => Promise<Either<GatewayError, CurrentSession>>) => {
  const any = anySession(ports);
  return async (token) => pipe(await any(token), E.chain(fullSession));
};

/** All admin routes require a platform admin, by session or by token (rules 39.12, 39.13); nobody else is admitted. */
export const platformAdmin = (person: Person): Either<GatewayError, Person> =>
  person.role === 'platform_admin' ? E.right(person) : E.left(adminRequired);

/**
 * Ends the session of a token, at once and on every replica. Resolves with the id of its person; `undefined` when there
 * is no such session.
 */
export const logOut =
  ({ sessions, tokens }: SessionPorts) =>
  async (token: string | undefined): Promise<string | undefined> =>
    token === undefined ? undefined : sessions.end(tokens.digest(token));
