import type { IncomingMessage, ServerResponse } from 'node:http';
import { signInLifeMs } from '../../../domain/identity/oidc-sign-in.ts';
import { header } from '../request-context.ts';

const cookieName = 'gateway_session';

/** 256 bits in base64url. The gateway never issues any other shape. */
const tokenShape = /^[A-Za-z0-9_-]{43}$/;

/**
 * For a browser that is at the identity provider: it returns from another site by a link (SameSite=Lax). The beginning
 * of the state tells the sign-ins of several tabs apart (rule 51.28).
 */
const signInCookieName = (state: string): string => `gateway_sign_in_${state.slice(0, 8)}`;

/** The session token of a call. */
export const sessionToken = (req: IncomingMessage): string | undefined => tokenIn(req, cookieName);

/** The token of a browser that returns from the identity provider with this state. */
export const signInToken = (req: IncomingMessage, state: string): string | undefined =>
  tokenIn(req, signInCookieName(state));

/** Two cookies of this name are both ignored, because a neighbouring host may have set one of them. */
function tokenIn(req: IncomingMessage, name: string): string | undefined {
  const given = (header(req, 'cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [token] = given;
  return token !== undefined && given.length === 1 && tokenShape.test(token) ? token : undefined;
}

/** No lifetime: only the server knows when a session ends, and the browser drops the cookie when it is closed. */
export const setSessionCookie = (res: ServerResponse, token: string, secure: boolean): void =>
  void res.appendHeader('set-cookie', cookie(cookieName, token, secure));

export const clearSessionCookie = (res: ServerResponse, secure: boolean): void =>
  void res.appendHeader('set-cookie', `${cookie(cookieName, '', secure)}; Max-Age=0`);

/** Lives as long as a sign-in may take. */
export const setSignInCookie = (res: ServerResponse, state: string, token: string, secure: boolean): void =>
  void res.appendHeader(
    'set-cookie',
    `${cookie(signInCookieName(state), token, secure)}; Max-Age=${Math.floor(signInLifeMs / 1000)}`,
  );

export const clearSignInCookie = (res: ServerResponse, state: string, secure: boolean): void =>
  void res.appendHeader('set-cookie', `${cookie(signInCookieName(state), '', secure)}; Max-Age=0`);

const cookie = (name: string, value: string, secure: boolean): string =>
  `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
