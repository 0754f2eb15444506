import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as t from 'io-ts';
import type { LoggedIn } from '../../../application/admin/log-in.ts';
import type { Login } from '../../../application/admin/proof.ts';
import type { CurrentSession } from '../../../application/admin/session.ts';
import {
  isPasswordTooLong,
  maxEmailChars,
  maxPasswordBytes,
  minPasswordChars,
} from '../../../domain/identity/password.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { isString, type JsonObject } from '../../../domain/shared/json.ts';
import { closingWhenTooSlow } from '../body-pace.ts';
import { readAdminBody } from './admin-body.ts';
import { loginPath } from './admin-call-record.ts';
import { type AdminEndpointPorts, type OpenCall, type OpenRoute, openRoute } from './admin-endpoint.ts';
import {
  choiceValue,
  countValue,
  flagValue,
  instantValue,
  objectOf,
  orNull,
  textValue,
  uuidValue,
} from '../answers.ts';
import { input, isStorable, optionalInput, readInputs, textInput, type ValuesOf } from './inputs.ts';
import { maxLoginBytes } from './login-bodies.ts';
import { isEncrypted } from '../request-context.ts';
import { clearSessionCookie, setSessionCookie } from './session-cookie.ts';

export interface SessionRoutesPorts extends AdminEndpointPorts {
  readonly logIn: (login: Login) => Promise<Either<GatewayError, LoggedIn>>;
  readonly logOut: (token: string | undefined) => Promise<string | undefined>;
  /** Where the identity provider ends its own session; `undefined` for a session that it did not open. */
  readonly endSessionUrl: (token: string | undefined) => Promise<string | undefined>;
  /** The longest life of an API token that is created now; `undefined` when it has no limit. */
  readonly tokenMaxMs: () => number | undefined;
}

const session = objectOf({
  user_id: uuidValue,
  email: textValue,
  name: textValue,
  role: choiceValue(['user', 'platform_admin']),
  expires_at: instantValue,
  has_password: flagValue,
  token_max_secs: orNull(countValue),
});

type SessionBody = t.TypeOf<typeof session>;

/** The provider's own session continues, unless the browser is sent to `end_session_url`. */
const loggedOut = t.union([
  objectOf({ logged_out: flagValue }),
  objectOf({ logged_out: flagValue, end_session_url: textValue }),
]);

/** Login and logout, open to any active person with a password. */
export const sessionRoutes = (ports: SessionRoutesPorts): readonly OpenRoute[] => [
  openRoute({
    method: 'POST',
    path: loginPath,
    summary: 'Logs a person in by password, and sets the session cookie.',
    gate: 'logins',
    body: { of: 'a login', members: credentials },
    answer: session,
    errors: ['invalid_credentials', 'second_factor_required', 'too_many_attempts', 'not_supported'],
    handle: login(ports),
  }),
  openRoute({
    method: 'POST',
    path: '/api/v1/auth/logout',
    summary: 'Ends the session.',
    answer: loggedOut,
    errors: [],
    handle: logout(ports),
  }),
  openRoute({
    method: 'GET',
    path: '/api/v1/auth/session',
    summary: 'The person of the session, when it ends, and how long an API token may last.',
    answer: session,
    errors: ['session_required', 'enrolment_required'],
    handle: async (call) => pipe(await sessionOf(call, ports.currentSession), E.map(presentSession(ports))),
  }),
];

/** The session of a call, whose user is also noted in the record. */
export async function sessionOf<S extends CurrentSession>(
  { token, record }: OpenCall,
  find: (token: string | undefined) => Promise<Either<GatewayError, S>>,
): Promise<Either<GatewayError, S>> {
  const current = await find(token);
  if (E.isRight(current)) record.userId = current.right.person.userId;
  return current;
}

const login =
  (ports: SessionRoutesPorts) =>
  async (call: OpenCall): Promise<Either<GatewayError, SessionBody>> => {
    const { context, origin, lease, record: recorded } = call;
    const arrivals = closingWhenTooSlow(context, ports.gates.loginBodies.of(origin.network));
    const body = await readAdminBody(context.req, maxLoginBytes, lease, arrivals);
    if (E.isLeft(body)) return body;
    recorded.email = loggedEmail(body.right ?? {});
    const given = readCredentials(body.right ?? {});
    if (E.isLeft(given)) return given;
    const loggedIn = await ports.logIn({ ...given.right, ...origin, whenGone: context.link.whenLost });
    if (E.isLeft(loggedIn)) return loggedIn;
    recorded.userId = loggedIn.right.person.userId;
    setSessionCookie(context.res, loggedIn.right.token, isSecure(ports, context.req));
    return E.right(presentSession(ports)(loggedIn.right));
  };

const logout =
  (ports: SessionRoutesPorts) =>
  async (call: OpenCall): Promise<Either<GatewayError, t.TypeOf<typeof loggedOut>>> => {
    const url = await ports.endSessionUrl(call.token);
    const ended = await ports.logOut(call.token);
    call.record.userId = ended;
    clearSessionCookie(call.context.res, isSecure(ports, call.context.req));
    const answer = { logged_out: ended !== undefined };
    return E.right(url === undefined ? answer : { ...answer, end_session_url: url });
  };

/**
 * Whether people use https, so that cookies may be limited to it: by `public_base_url` if set, otherwise by this call.
 */
export const isSecure = (
  { publicBaseUrl }: Pick<AdminEndpointPorts, 'publicBaseUrl'>,
  req: IncomingMessage,
): boolean => publicBaseUrl()?.startsWith('https://') ?? isEncrypted(req);

const presentSession =
  ({ tokenMaxMs }: Pick<SessionRoutesPorts, 'tokenMaxMs'>) =>
  ({ person, expiresAt, hasPassword }: CurrentSession): SessionBody => {
    const maxMs = tokenMaxMs();
    return {
      user_id: person.userId,
      email: person.email,
      name: person.name,
      role: person.role,
      expires_at: new Date(expiresAt).toISOString(),
      has_password: hasPassword,
      token_max_secs: maxMs === undefined ? null : maxMs / 1000,
    };
  };

/**
 * The e-mail address to log for a login. People type passwords there too, so a value without `@`, or equal to the
 * password, is not logged.
 */
const loggedEmail = ({ email, password }: JsonObject): string | undefined =>
  isString(email) && email.includes('@') && email !== password ? email : undefined;

/** A password as typed. What is described as its least length is judged later, except that it is not empty. */
const passwordOf = (minLength: number) =>
  input(
    `must be text of 1 to ${maxPasswordBytes} bytes`,
    { type: 'string', format: 'password', minLength, maxLength: maxPasswordBytes },
    (given) => (typeof given === 'string' && given !== '' && !isPasswordTooLong(given) ? given : undefined),
  );

export const passwordInput = passwordOf(1);
export const newPasswordInput = passwordOf(minPasswordChars);

/** Longer than any code with spaces and dashes. */
const maxCodeChars = 64;

/** A code from an authenticator, or a recovery code. */
export const codeInput = textInput(maxCodeChars);

const credentials = {
  email: input(
    'must be an e-mail address',
    { type: 'string', format: 'email', maxLength: maxEmailChars },
    (given) =>
      typeof given === 'string' && given !== '' && given.length <= maxEmailChars && isStorable(given)
        ? given
        : undefined,
  ),
  password: passwordInput,
  code: optionalInput(codeInput),
};

/** Malformed input is rejected before any lookup, so these errors reveal nothing about accounts. */
const readCredentials = (body: JsonObject): Either<GatewayError, ValuesOf<typeof credentials>> =>
  readInputs(body, credentials, (name) => `A login has no \`${name}\`.`);
