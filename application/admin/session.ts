import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { sessionAt } from '../../domain/identity/admin-session.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { AdminSessions, Person, SessionTokens } from '../ports/admin-access.ts';

export interface SessionPorts {
  readonly sessions: AdminSessions;
  readonly tokens: SessionTokens;
}

/** Who is logged in, and until when. */
export interface CurrentSession {
  readonly person: Person;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const sessionRequired: GatewayError = {
  code: 'session_required',
  message: 'Log in first: POST /api/v1/auth/login with `email` and `password`.',
};

const adminRequired: GatewayError = {
  code: 'admin_required',
  message: 'Only platform admins may do this.',
};

/** The session of a token. Role and revocation are read at each request. */
export const currentSession =
  ({ sessions, tokens }: SessionPorts) =>
  async (token: string | undefined): Promise<Either<GatewayError, CurrentSession>> => {
    if (token === undefined) return E.left(sessionRequired);
    const digest = tokens.digest(token);
    const found = await sessions.find(digest);
    if (found === undefined) return E.left(sessionRequired);
    const state = sessionAt(found.session, found.now);
    if (state.kind === 'over') return E.left(sessionRequired);
    if (state.kind === 'moved') await sessions.note(digest, state.session);
    return E.right({ person: found.person, expiresAt: state.session.expiresAt });
  };

/** All admin routes require an authenticated platform-admin session; other callers are not admitted. */
export const platformAdmin = (person: Person): Either<GatewayError, Person> =>
  person.role === 'platform_admin' ? E.right(person) : E.left(adminRequired);

/**
 * Ends the session of a token, at once and on every replica, and gives whose it was; undefined when there is no such
 * session.
 */
export const logOut =
  ({ sessions, tokens }: SessionPorts) =>
  async (token: string | undefined): Promise<string | undefined> =>
    token === undefined ? undefined : sessions.end(tokens.digest(token));
