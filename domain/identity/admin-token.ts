import { absoluteMs } from './admin-session.ts';
import type { PresentedKey } from './api-key.ts';

/** What a token may do; `write` includes `read`. */
export const tokenScopes = ['read', 'write'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** A public id of 32 hex digits and a secret of 64: only the gateway creates tokens. */
const tokenShape = /^gwa_([0-9a-f]{32})\.([0-9a-f]{64})$/;

export function parseToken(text: string): PresentedKey | undefined {
  const [, publicId, secret] = tokenShape.exec(text) ?? [];
  return publicId === undefined || secret === undefined ? undefined : { publicId, secret };
}

export const formatToken = ({ publicId, secret }: PresentedKey): string => `gwa_${publicId}.${secret}`;

/**
 * `Authorization: Bearer gwa_…`. Other credentials in that header are ignored: they belong to others, such as a proxy.
 */
const bearer = /^bearer[ \t]+(gwa_\S*)[ \t]*$/i;

/** The token that a call presents, not parsed; `undefined` when it presents none. */
export const presentedToken = (authorization: string | undefined): string | undefined =>
  bearer.exec(authorization ?? '')?.[1];

/** Reading needs either scope; any change needs `write`. */
export const mayCall = (scope: TokenScope, isRead: boolean): boolean => scope === 'write' || isRead;

/**
 * The longest life of a new token; `undefined` when it has no limit. If the identity provider decides who is an admin
 * (`admin_groups`), it is asked only at sign-in, so a token lasts no longer than a session may (rule 44.20).
 */
export const tokenMaxMs = ({ byProvider }: { readonly byProvider: boolean }): number | undefined =>
  byProvider ? absoluteMs : undefined;

/** What is wrong with the expiry of a new token; times are milliseconds since the epoch. */
export function tokenEndFault(
  expiresAt: number | undefined,
  now: number,
  roles: { readonly byProvider: boolean },
): string | undefined {
  if (expiresAt !== undefined && expiresAt <= now) return '`expires_at` must be in the future.';
  const maxMs = tokenMaxMs(roles);
  if (maxMs === undefined || (expiresAt !== undefined && expiresAt <= now + maxMs)) return undefined;
  return '`expires_at` must be at most 7 days ahead: the identity provider says who is an admin (`admin_groups`), and is asked when somebody signs in.';
}
