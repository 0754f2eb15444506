import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { newSession } from '../../domain/identity/admin-session.ts';
import { vouchedPerson } from '../../domain/identity/provider-claims.ts';
import { returnPath } from '../../domain/identity/return-path.ts';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import type { Person, SessionTokens } from '../ports/admin-access.ts';
import type {
  VouchedAdmission,
  IdentityProvider,
  ProviderFault,
  ProviderTerms,
  SignInKeys,
  SignIns,
  VouchedPeople,
} from '../ports/sign-in.ts';

export interface SignInPorts {
  /** The provider in the current configuration; `undefined` when nobody signs in at one. */
  readonly provider: () => { readonly terms: ProviderTerms; readonly identity: IdentityProvider } | undefined;
  readonly signIns: SignIns;
  readonly people: VouchedPeople;
  readonly tokens: SessionTokens;
  /** Derives the keys of one sign-in from what only the browser keeps and the state that the provider returns. */
  readonly keysOf: (browserToken: string, state: string) => SignInKeys;
  /** Logs a change of role that was made, or withheld. */
  readonly note: (fields: { readonly user_id: string }, message: string) => void;
}

/** Why nobody was signed in: an error for the browser, and a reason for the log. */
export interface SignInRefusal {
  readonly error: GatewayError;
  readonly reason: string;
}

/** A browser on its way to the provider. */
export interface BegunSignIn {
  readonly location: string;
  readonly state: string;
  /** For the cookie; not stored anywhere else. */
  readonly browserToken: string;
}

export interface FinishedSignIn {
  readonly person: Person;
  /** The token of the session, for its cookie. */
  readonly token: string;
  readonly returnTo: string;
}

const refusal = (error: GatewayError, reason: string): Either<SignInRefusal, never> =>
  E.left({ error, reason });

const notConfigured: GatewayError = {
  code: 'not_supported',
  message: 'No identity provider is configured (`admin_auth.oidc`): log in at POST /api/v1/auth/login.',
};

const unavailable: GatewayError = {
  code: 'sign_in_unavailable',
  message:
    'The identity provider cannot be asked. Try again; if that does not help, the log of the gateway says why.',
  retryAfterSecs: 5,
};

const notSignedIn: GatewayError = {
  code: 'invalid_credentials',
  message: 'The identity provider did not sign you in, or you have no access here.',
};

const tooManySignIns: GatewayError = {
  code: 'overloaded',
  message: 'Too many sign-ins are under way; try again in some minutes.',
  retryAfterSecs: 60,
};

const notBegun = invalidRequest(
  'This sign-in was not begun in this browser, took too long, or was finished already: begin again at GET /api/v1/auth/oidc/start.',
  'state',
);

const errorOf = ({ kind }: ProviderFault): GatewayError =>
  kind === 'unavailable' ? unavailable : notSignedIn;

/** Sends a browser to the provider. */
export const beginSignIn =
  ({ provider, signIns, tokens, keysOf }: SignInPorts) =>
  async (asked: {
    readonly returnTo: string | undefined;
    /** True to choose an account, although the provider may know one. */
    readonly asksAccount: boolean;
    readonly address: string;
  }): Promise<Either<SignInRefusal, BegunSignIn>> => {
    const there = provider();
    if (there === undefined) return refusal(notConfigured, 'no identity provider is configured');
    const [browserToken, state] = [tokens.create(), tokens.create()];
    const location = await there.identity.authorizationUrl(keysOf(browserToken, state), asked.asksAccount);
    if (E.isLeft(location)) return refusal(errorOf(location.left), location.left.reason);
    const begun = await signIns.begin({
      stateSha256: tokens.digest(state),
      browserSha256: tokens.digest(browserToken),
      returnTo: returnPath(asked.returnTo),
      address: asked.address,
    });
    return begun
      ? E.right({ location: location.right, state, browserToken })
      : refusal(tooManySignIns, 'too many sign-ins are under way');
  };

/** Accepts a browser back from the provider: once, in time, and only the browser that was sent. */
export const finishSignIn =
  (ports: SignInPorts) =>
  async (returned: {
    readonly query: URLSearchParams;
    readonly browserToken: string | undefined;
    readonly address: string;
  }): Promise<Either<SignInRefusal, FinishedSignIn>> => {
    const { tokens } = ports;
    const there = ports.provider();
    if (there === undefined) return refusal(notConfigured, 'no identity provider is configured');
    const { query, browserToken, address } = returned;
    const state = query.get('state');
    if (state === null || browserToken === undefined)
      return refusal(notBegun, 'the state or the cookie of the sign-in is missing');
    const keys = ports.keysOf(browserToken, state);
    const digests = { stateSha256: tokens.digest(state), browserSha256: tokens.digest(browserToken) };
    const taken = await ports.signIns.take(digests);
    if (taken === undefined)
      return refusal(notBegun, 'no sign-in of this state is under way in this browser');
    const claims = await there.identity.claims(query, keys);
    if (E.isLeft(claims)) return refusal(errorOf(claims.left), claims.left.reason);
    const person = vouchedPerson(claims.right, there.terms);
    if (E.isLeft(person)) return refusal(notSignedIn, person.left);
    const token = tokens.create();
    const admission = await ports.people.admit({
      person: person.right,
      createUser: there.terms.createUsers,
      tokenSha256: tokens.digest(token),
      address,
      session: newSession,
    });
    if (admission.kind !== 'admitted') return refusal(notSignedIn, unadmitted[admission.kind]);
    noteRole(ports, admission);
    return E.right({ person: admission.person, token, returnTo: taken.returnTo });
  };

const unadmitted = {
  unknown: 'nobody has this e-mail address, and create_users is false',
  inactive: 'the person is deactivated',
} as const satisfies Record<Exclude<VouchedAdmission['kind'], 'admitted'>, string>;

function noteRole(
  { note }: SignInPorts,
  { person, role }: Extract<VouchedAdmission, { readonly kind: 'admitted' }>,
): void {
  const fields = { user_id: person.userId };
  if (role === 'given') note(fields, 'the role of a platform admin was given by a group of the provider');
  if (role === 'taken') note(fields, 'the role of a platform admin was taken: none of the groups has it');
  if (role === 'kept_last')
    note(fields, 'in none of the groups, and a platform admin still: there is no other active one');
}
