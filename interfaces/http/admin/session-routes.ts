import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Credentials } from '../../../application/admin/create-admin.ts';
import type { LoggedIn, Login } from '../../../application/admin/log-in.ts';
import type { CurrentSession } from '../../../application/admin/session.ts';
import { isPasswordTooLong, maxEmailChars, maxPasswordBytes } from '../../../domain/identity/password.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { hangingUp } from '../body-pace.ts';
import { readAdminBody } from './admin-body.ts';
import { loginPath } from './admin-call-record.ts';
import type { AdminEndpointPorts, OpenCall, OpenRoute } from './admin-endpoint.ts';
import { input, readInputs } from './inputs.ts';
import { maxLoginBytes } from './login-bodies.ts';
import { clearSessionCookie, setSessionCookie } from './session-cookie.ts';

export interface SessionRoutesPorts extends AdminEndpointPorts {
  readonly logIn: (login: Login) => Promise<Either<GatewayError, LoggedIn>>;
  readonly logOut: (token: string | undefined) => Promise<string | undefined>;
}

/** How people log in and out; any active person with a password may. */
export const sessionRoutes = (ports: SessionRoutesPorts): readonly OpenRoute[] => [
  { method: 'POST', path: loginPath, gate: 'logins', handle: login(ports) },
  { method: 'POST', path: '/api/v1/auth/logout', handle: logout(ports) },
  {
    method: 'GET',
    path: '/api/v1/auth/session',
    handle: async ({ token, record }) => {
      const current = await ports.currentSession(token);
      if (E.isRight(current)) record.userId = current.right.person.userId;
      return pipe(current, E.map(presentSession));
    },
  },
];

const login =
  (ports: SessionRoutesPorts) =>
  async ({ context, origin, lease, record }: OpenCall): Promise<Either<GatewayError, Json>> => {
    const arrivals = hangingUp(context, ports.gates.loginBodies.of(origin.network));
    const body = await readAdminBody(context.req, maxLoginBytes, lease, arrivals);
    if (E.isLeft(body)) return body;
    record.email = loggedEmail(body.right ?? {});
    const given = readCredentials(body.right ?? {});
    if (E.isLeft(given)) return given;
    const whenGone = (callback: () => void): void => context.link.whenLost(() => callback());
    const loggedIn = await ports.logIn({ ...given.right, ...origin, whenGone });
    if (E.isLeft(loggedIn)) return loggedIn;
    record.userId = loggedIn.right.person.userId;
    setSessionCookie(context.res, loggedIn.right.token, isSecure(ports));
    return E.right(presentSession(loggedIn.right));
  };

const logout =
  (ports: SessionRoutesPorts) =>
  async ({ context, token, record }: OpenCall): Promise<Either<GatewayError, Json>> => {
    record.userId = await ports.logOut(token);
    clearSessionCookie(context.res, isSecure(ports));
    return E.right({ logged_out: record.userId !== undefined });
  };

const isSecure = ({ publicBaseUrl }: AdminEndpointPorts): boolean =>
  publicBaseUrl()?.startsWith('https://') === true;

const presentSession = ({ person, expiresAt }: CurrentSession): Json => ({
  user_id: person.userId,
  email: person.email,
  name: person.name,
  role: person.role,
  expires_at: new Date(expiresAt).toISOString(),
});

/**
 * The e-mail that a login is logged with. People type passwords there too: what has no `@`, or is the password, is not
 * logged.
 */
const loggedEmail = ({ email, password }: JsonObject): string | undefined =>
  isString(email) && email.includes('@') && email !== password ? email : undefined;

/** PostgreSQL holds neither U+0000 nor lone surrogates. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

const credentials = {
  email: input('must be an e-mail address', (given) =>
    typeof given === 'string' && given !== '' && given.length <= maxEmailChars && isStorable(given)
      ? given
      : undefined,
  ),
  password: input(`must be text of at most ${maxPasswordBytes} bytes`, (given) =>
    typeof given === 'string' && given !== '' && !isPasswordTooLong(given) ? given : undefined,
  ),
};

/** Errors of form are answered before anything is looked up, so they say nothing of any account. */
const readCredentials = (body: JsonObject): Either<GatewayError, Credentials> =>
  readInputs(body, credentials, (name) => `A login has no \`${name}\`.`);
