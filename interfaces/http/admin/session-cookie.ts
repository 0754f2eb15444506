import type { IncomingMessage, ServerResponse } from 'node:http';
import { header } from '../request-context.ts';

const cookieName = 'gateway_session';

/** 256 bits in base64url; anything else was not handed out here. */
const tokenShape = /^[A-Za-z0-9_-]{43}$/;

/** The token of a call. Of two neither counts: a neighbouring host may have set one of them. */
export function sessionToken(req: IncomingMessage): string | undefined {
  const given = (header(req, 'cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookieName}=`))
    .map((pair) => pair.slice(cookieName.length + 1));
  const [token] = given;
  return token !== undefined && given.length === 1 && tokenShape.test(token) ? token : undefined;
}

/** No lifetime: the server alone knows when a session ends, and the browser forgets it when it is closed. */
export const setSessionCookie = (res: ServerResponse, token: string, secure: boolean): void =>
  void res.setHeader('set-cookie', cookie(token, secure));

export const clearSessionCookie = (res: ServerResponse, secure: boolean): void =>
  void res.setHeader('set-cookie', `${cookie('', secure)}; Max-Age=0`);

const cookie = (value: string, secure: boolean): string =>
  `${cookieName}=${value}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
