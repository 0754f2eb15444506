/** An API key as callers present it: `gwk_<public id>.<secret>`. */
export interface PresentedKey {
  readonly publicId: string;
  readonly secret: string;
}

/** Keys in a configuration may be chosen by people, such as `gwk_ci-1.…`. Generated keys have 32 and 64 hex digits. */
const keyShape = /^gwk_([A-Za-z0-9_-]{1,64})\.([\x21-\x7e]{32,512})$/;

export function parseKey(text: string): PresentedKey | undefined {
  const [, publicId, secret] = keyShape.exec(text) ?? [];
  return publicId === undefined || secret === undefined ? undefined : { publicId, secret };
}

export const formatKey = (key: PresentedKey): string => `gwk_${key.publicId}.${key.secret}`;

const bearer = /^bearer[ \t]+(\S+)[ \t]*$/i;

/**
 * The key of a request, from `Authorization: Bearer …` or `x-api-key: …`. When both are present, a Bearer
 * `Authorization` wins; another scheme is ignored and `x-api-key` counts (rule 33.3).
 */
export const presentedCredential = (authorization: string | undefined, xApiKey: string | undefined) =>
  bearer.exec(authorization ?? '')?.[1] ?? (xApiKey === '' ? undefined : xApiKey);

/**
 * Maximum number of seconds that the old secret stays valid after a rotation: a week, for teams that deploy once a
 * week.
 */
export const maxOverlapSecs = 604_800;

/**
 * The status of a key in lists: what an admin, the file or the clock did to the key, whatever the status of its owner.
 */
export const keyStatuses = ['active', 'revoked', 'expired'] as const;
export type KeyStatus = (typeof keyStatuses)[number];
