import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { DatabasePool } from 'slonik';
import { changePassword } from '../application/admin/change-password.ts';
import { logIn } from '../application/admin/log-in.ts';
import { loginVerifier } from '../application/admin/proof.ts';
import { beginFactor, confirmFactor, removeFactor } from '../application/admin/second-factor.ts';
import { anySession, currentSession, logOut } from '../application/admin/session.ts';
import { beginSignIn, finishSignIn, type SignInPorts } from '../application/admin/sign-in.ts';
import { tokenMaxMs } from '../domain/identity/admin-token.ts';
import type { SignInMethod } from '../domain/identity/second-factor.ts';
import type { AdminAuthConfig } from '../infrastructure/config/admin-auth-config.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { Log } from '../infrastructure/logging.ts';
import { argon2Passwords } from '../infrastructure/passwords.ts';
import { ownAccessStore } from '../infrastructure/postgres/own-access-store.ts';
import { loginAttemptsStore, sessionStore } from '../infrastructure/postgres/session-store.ts';
import { signInStore, vouchedPeopleStore } from '../infrastructure/postgres/sign-in-store.ts';
import { sessionTokens as tokens } from '../infrastructure/session-tokens.ts';
import { identityProvider } from '../infrastructure/sign-in/identity-provider.ts';
import { oneTimeCodes as codes } from '../infrastructure/sign-in/one-time-codes.ts';
import { signInKeys } from '../infrastructure/sign-in/sign-in-keys.ts';
import type { AdminEndpointPorts } from '../interfaces/http/admin/admin-endpoint.ts';
import type { OpenRoutesPorts } from '../interfaces/http/admin/open-routes.ts';
import { callbackPath } from '../interfaces/http/admin/sign-in-routes.ts';

/** What the routes of signing in and of a person's own access need, beyond what every endpoint needs. */
export type SignInUseCases = Omit<OpenRoutesPorts, Exclude<keyof AdminEndpointPorts, 'currentSession'>>;

/** How people sign in, by `admin_auth` as it is at each call. */
export function signInUseCases(pool: DatabasePool, config: LiveConfig, log: Log): SignInUseCases {
  const auth = (): AdminAuthConfig => config.loaded().config.adminAuth;
  const sessions = sessionStore(pool);
  const passwords = argon2Passwords();
  const verifyLogin = loginVerifier({
    sessions,
    tokens,
    passwords,
    codes,
    attempts: loginAttemptsStore(pool),
    pause: async (ms: number) => sleep(ms),
    passwordLogin: () => auth().passwordLogin,
  });
  const session = {
    sessions,
    tokens,
    policy: () => ({ methods: methodsOf(auth()), requireSecondFactor: auth().requireSecondFactor }),
  };
  const own = { verifyLogin, own: ownAccessStore(pool), passwords, codes, tokens };
  const signIn = signInPorts(pool, config, log);
  return {
    logIn: logIn({ verifyLogin, sessions, tokens }),
    logOut: logOut(session),
    currentSession: currentSession(session),
    anySession: anySession(session),
    endSessionUrl: async (token) => {
      const current = await anySession(session)(token);
      return E.isRight(current) && current.right.signedInBy === 'oidc'
        ? signIn.provider()?.identity.endSessionUrl()
        : undefined;
    },
    tokenMaxMs: () => tokenMaxMs({ byProvider: rolesByProvider(auth()) }),
    methods: () => ({ password: auth().passwordLogin, oidcName: auth().oidc?.displayName }),
    beginSignIn: beginSignIn(signIn),
    finishSignIn: finishSignIn(signIn),
    beginFactor: beginFactor(own),
    confirmFactor: confirmFactor(own),
    removeFactor: removeFactor(own),
    changePassword: changePassword(own),
  };
}

/** Whether the identity provider decides who is an admin. */
export const rolesByProvider = ({ oidc }: AdminAuthConfig): boolean => (oidc?.adminGroups.length ?? 0) > 0;

const methodsOf = ({ oidc, passwordLogin }: AdminAuthConfig): readonly SignInMethod[] => [
  ...(passwordLogin ? (['password'] as const) : []),
  ...(oidc === undefined ? [] : (['oidc'] as const)),
];

const signInPorts = (pool: DatabasePool, config: LiveConfig, log: Log): SignInPorts => ({
  provider: providerOf(config),
  signIns: signInStore(pool),
  people: vouchedPeopleStore(pool),
  tokens,
  keysOf: signInKeys,
  note: (fields, message) => log.warn(fields, message),
});

/** The provider in the current file. What was discovered about it is kept until its settings change. */
function providerOf(config: LiveConfig): SignInPorts['provider'] {
  let kept: { readonly settings: string; readonly provider: ReturnType<SignInPorts['provider']> } | undefined;
  return () => {
    const { adminAuth, server } = config.loaded().config;
    const { oidc } = adminAuth;
    const { publicBaseUrl } = server;
    if (oidc === undefined || publicBaseUrl === undefined) return undefined;
    const settings = JSON.stringify([oidc, publicBaseUrl]);
    if (kept?.settings !== settings) {
      const identity = identityProvider(oidc, `${publicBaseUrl}${callbackPath}`);
      kept = { settings, provider: { terms: oidc, identity } };
    }
    return kept.provider;
  };
}
