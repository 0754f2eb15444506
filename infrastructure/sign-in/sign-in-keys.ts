import { createHmac } from 'node:crypto';
import type { SignInKeys } from '../../application/ports/sign-in.ts';

/**
 * The nonce and the PKCE verifier of a sign-in, derived from a token that only the browser keeps. Nothing that is
 * stored could finish a sign-in, and a state in another browser makes other keys.
 */
export const signInKeys = (browserToken: string, state: string): SignInKeys => {
  const made = (what: string): string =>
    createHmac('sha256', browserToken).update(`${what} ${state}`).digest('base64url');
  return { state, nonce: made('nonce'), codeVerifier: made('code verifier') };
};
