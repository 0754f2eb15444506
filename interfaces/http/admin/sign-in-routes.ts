import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { BegunSignIn, FinishedSignIn, SignInRefusal } from '../../../application/admin/sign-in.ts';
import type { ErrorCode, GatewayError } from '../../../domain/shared/gateway-error.ts';
import { type AdminEndpointPorts, type OpenCall, type OpenRoute, openRoute } from './admin-endpoint.ts';
import { flagValue, objectOf, orNull, textValue } from '../answers.ts';
import { choiceInput, optionalInput, textInput } from './inputs.ts';
import { readQuery } from './query.ts';
import { Redirect, redirectValue } from './redirect.ts';
import { clearSignInCookie, setSessionCookie, setSignInCookie, signInToken } from './session-cookie.ts';
import { isSecure } from './session-routes.ts';

/** The available ways to sign in. */
export interface SignInMethods {
  readonly password: boolean;
  /** The provider's name as shown to people. */
  readonly oidcName: string | undefined;
}

export interface SignInRoutesPorts extends AdminEndpointPorts {
  readonly methods: () => SignInMethods;
  readonly beginSignIn: (asked: {
    readonly returnTo: string | undefined;
    readonly asksAccount: boolean;
    readonly address: string;
  }) => Promise<Either<SignInRefusal, BegunSignIn>>;
  readonly finishSignIn: (returned: {
    readonly query: URLSearchParams;
    readonly browserToken: string | undefined;
    readonly address: string;
  }) => Promise<Either<SignInRefusal, FinishedSignIn>>;
}

const startPath = '/api/v1/auth/oidc/start';

/** The address to which the identity provider sends browsers back. */
export const callbackPath = '/api/v1/auth/oidc/callback';

/** The login page, which has a message for each code. */
const refusalPage = (code: ErrorCode): string => `/admin?sign_in_error=${code}`;

const startQuery = {
  return_to: optionalInput(textInput(4096)),
  prompt: optionalInput(choiceInput(['select_account'])),
};

/** Sign-in through an identity provider, and the list of sign-in methods; open to anybody. */
export const signInRoutes = (ports: SignInRoutesPorts): readonly OpenRoute[] => [
  openRoute({
    method: 'GET',
    path: '/api/v1/auth/methods',
    summary: 'The available sign-in methods.',
    answer: objectOf({
      password: flagValue,
      oidc: orNull(objectOf({ display_name: textValue, start_url: textValue })),
    }),
    errors: [],
    handle: async () => {
      const { password, oidcName } = ports.methods();
      const oidc = oidcName === undefined ? null : { display_name: oidcName, start_url: startPath };
      return E.right({ password, oidc });
    },
  }),
  openRoute({
    method: 'GET',
    path: startPath,
    summary: 'Sends a browser to the identity provider to sign in (302).',
    gate: 'signIns',
    refusalPage,
    query: startQuery,
    answer: redirectValue,
    errors: ['sign_in_unavailable', 'not_supported'],
    handle: start(ports),
  }),
  openRoute({
    method: 'GET',
    path: callbackPath,
    summary:
      'Takes a browser back from the identity provider, sets the session cookie, and sends it on (302).',
    gate: 'signIns',
    refusalPage,
    answer: redirectValue,
    errors: ['invalid_credentials', 'sign_in_unavailable', 'not_supported'],
    handle: callback(ports),
  }),
];

const start =
  (ports: SignInRoutesPorts) =>
  async (call: OpenCall): Promise<Either<GatewayError, Redirect>> => {
    const asked = readQuery(call.query, startQuery);
    if (E.isLeft(asked)) return asked;
    const { address } = call.origin;
    const { return_to: returnTo, prompt } = asked.right;
    const begun = await ports.beginSignIn({ returnTo, asksAccount: prompt !== undefined, address });
    if (E.isLeft(begun)) return refused(call, begun.left);
    const { location, state, browserToken } = begun.right;
    setSignInCookie(call.context.res, state, browserToken, isSecure(ports, call.context.req));
    return E.right(new Redirect(location));
  };

/** Unknown parameters are ignored: a provider may send its own. */
const callback =
  (ports: SignInRoutesPorts) =>
  async (call: OpenCall): Promise<Either<GatewayError, Redirect>> => {
    const { query, record, context } = call;
    const { address } = record;
    const state = query.get('state') ?? '';
    const browserToken = signInToken(context.req, state);
    const finished = await ports.finishSignIn({ query, browserToken, address });
    if (E.isLeft(finished)) return refused(call, finished.left);
    const { person, token, returnTo } = finished.right;
    record.userId = person.userId;
    clearSignInCookie(context.res, state, isSecure(ports, context.req));
    setSessionCookie(context.res, token, isSecure(ports, context.req));
    return E.right(new Redirect(returnTo));
  };

/** The reason goes to the log only; the browser gets the error, which it may know. */
function refused({ record }: OpenCall, { error, reason }: SignInRefusal): Either<GatewayError, never> {
  record.reason = reason;
  return E.left(error);
}
