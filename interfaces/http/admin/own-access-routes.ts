import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { FactorSetUp, OwnLogin } from '../../../application/admin/second-factor.ts';
import type { CurrentSession, SignedIn } from '../../../application/admin/session.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { closingWhenTooSlow } from '../body-pace.ts';
import { readAdminBody } from './admin-body.ts';
import { type AdminEndpointPorts, type OpenCall, type OpenRoute, openRoute } from './admin-endpoint.ts';
import { arrayOf, choiceValue, flagValue, objectOf, textValue } from '../answers.ts';
import { type Inputs, readInputs, type ValuesOf } from './inputs.ts';
import { maxLoginBytes } from './login-bodies.ts';
import { codeInput, newPasswordInput, passwordInput, sessionOf } from './session-routes.ts';

export interface OwnAccessRoutesPorts extends AdminEndpointPorts {
  /** Also accepts a session that may only enrol. */
  readonly anySession: (token: string | undefined) => Promise<Either<GatewayError, SignedIn>>;
  readonly beginFactor: (login: OwnLogin) => Promise<Either<GatewayError, FactorSetUp>>;
  readonly confirmFactor: (
    login: OwnLogin & { readonly code: string },
  ) => Promise<Either<GatewayError, readonly string[]>>;
  readonly removeFactor: (login: OwnLogin & { readonly code: string }) => Promise<Either<GatewayError, void>>;
  readonly changePassword: (
    login: OwnLogin & { readonly newPassword: string },
  ) => Promise<Either<GatewayError, void>>;
}

const factorPath = '/api/v1/auth/second-factor';

const proofErrors = [
  'session_required',
  'invalid_credentials',
  'too_many_attempts',
  'not_supported',
] as const;

const present = { password: passwordInput };
const presentAndCode = { ...present, code: codeInput };
const passwords = { current_password: passwordInput, new_password: newPasswordInput };

/** A person's own second factor and password. Each change requires the current password again. */
export const ownAccessRoutes = (ports: OwnAccessRoutesPorts): readonly OpenRoute[] => [
  ...factorRoutes(ports),
  passwordRoute(ports),
];

const factorRoutes = (ports: OwnAccessRoutesPorts): readonly OpenRoute[] => [
  openRoute({
    method: 'GET',
    path: factorPath,
    summary: 'Whether the person has a second factor, or must enrol one.',
    answer: objectOf({ state: choiceValue(['none', 'enrolled', 'must_enrol']) }),
    errors: ['session_required'],
    handle: async (call) =>
      pipe(
        await sessionOf(call, ports.anySession),
        E.map(({ secondFactor }) => ({ state: secondFactor })),
      ),
  }),
  openRoute({
    method: 'POST',
    path: factorPath,
    summary: 'Begins the enrolment of an authenticator (TOTP); shows its secret once.',
    body: { of: 'an enrolment', members: present },
    answer: objectOf({ secret: textValue, otpauth_uri: textValue }),
    errors: [...proofErrors, 'conflict'],
    handle: asOneself(ports, ports.anySession, present, async (self, { password }) =>
      pipe(
        await ports.beginFactor({ ...self, password }),
        E.map(({ secret, otpauthUri }) => ({ secret, otpauth_uri: otpauthUri })),
      ),
    ),
  }),
  openRoute({
    method: 'POST',
    path: `${factorPath}/confirm`,
    summary: 'Ends the enrolment by a code of the authenticator; shows the recovery codes once.',
    body: { of: 'an enrolment', members: presentAndCode },
    answer: objectOf({ recovery_codes: arrayOf(textValue) }),
    errors: [...proofErrors, 'conflict'],
    handle: asOneself(ports, ports.anySession, presentAndCode, async (self, given) =>
      pipe(
        await ports.confirmFactor({ ...self, ...given }),
        E.map((codes) => ({ recovery_codes: codes })),
      ),
    ),
  }),
  openRoute({
    method: 'DELETE',
    path: factorPath,
    summary: 'Removes the second factor and its recovery codes.',
    body: { of: 'a removal', members: presentAndCode },
    answer: objectOf({ removed: flagValue }),
    errors: [...proofErrors, 'not_found'],
    handle: asOneself(ports, ports.anySession, presentAndCode, async (self, given) =>
      pipe(
        await ports.removeFactor({ ...self, ...given }),
        E.map(() => ({ removed: true })),
      ),
    ),
  }),
];

const passwordRoute = (ports: OwnAccessRoutesPorts): OpenRoute =>
  openRoute({
    method: 'POST',
    path: '/api/v1/auth/password',
    summary: 'Changes your own password, and ends your other sessions.',
    body: { of: 'a change of password', members: passwords },
    answer: objectOf({ changed: flagValue }),
    errors: [...proofErrors, 'enrolment_required', 'conflict'],
    handle: asOneself(ports, ports.currentSession, passwords, async (self, given) => {
      const login = { ...self, password: given.current_password, newPassword: given.new_password };
      return pipe(
        await ports.changePassword(login),
        E.mapLeft(underItsName),
        E.map(() => ({ changed: true })),
      );
    }),
  });

/** Names which of the two passwords was wrong. */
const underItsName = (error: GatewayError): GatewayError =>
  error.code === 'invalid_credentials' ? { ...error, param: 'current_password' } : error;

/** The caller, without the password and code that prove it. */
type Self = Omit<OwnLogin, 'password' | 'code'>;

/** Checks the session before it reads the body. */
const asOneself =
  <M extends Inputs, A>(
    { pace }: OwnAccessRoutesPorts,
    find: (token: string | undefined) => Promise<Either<GatewayError, CurrentSession>>,
    members: M,
    act: (self: Self, given: ValuesOf<M>) => Promise<Either<GatewayError, A>>,
  ) =>
  async (call: OpenCall): Promise<Either<GatewayError, A>> => {
    const current = await sessionOf(call, find);
    if (E.isLeft(current)) return current;
    const { context, lease, origin, token = '', record } = call;
    const body = await readAdminBody(context.req, maxLoginBytes, lease, closingWhenTooSlow(context, pace));
    if (E.isLeft(body)) return body;
    if (body.right === undefined) return E.left(invalidRequest('The body must be a JSON object.', 'body'));
    const given = readInputs(body.right, members, (name) => `This call has no \`${name}\`.`);
    if (E.isLeft(given)) return given;
    const { email } = current.right.person;
    const { whenLost: whenGone } = context.link;
    return act({ email, token, remoteAddress: record.address, ...origin, whenGone }, given.right);
  };
