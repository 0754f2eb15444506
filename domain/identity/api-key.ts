/** An API key as callers present it: `gwk_<public id>.<secret>`. */
export interface PresentedKey {
  readonly publicId: string;
  readonly secret: string;
}

/** Whole keys of a configuration are people's own, `gwk_ci-1.…` too; generated ones have 32 hex and 64 hex. */
const keyShape = /^gwk_([A-Za-z0-9_-]{1,64})\.([\x21-\x7e]{32,512})$/;

export function parseKey(text: string): PresentedKey | undefined {
  const [, publicId, secret] = keyShape.exec(text) ?? [];
  return publicId === undefined || secret === undefined ? undefined : { publicId, secret };
}

export const formatKey = (key: PresentedKey): string => `gwk_${key.publicId}.${key.secret}`;

const bearer = /^bearer[ \t]+(\S+)[ \t]*$/i;

/**
 * The key of a request, from `Authorization: Bearer …` or `x-api-key: …`. With both present a Bearer
 * `Authorization` wins; other schemes are ignored when `x-api-key` is there (rule 33.3).
 */
export const presentedCredential = (authorization: string | undefined, xApiKey: string | undefined) =>
  bearer.exec(authorization ?? '')?.[1] ?? (xApiKey === '' ? undefined : xApiKey);

/** Seconds that the secret before a rotation may live on: a week, for whoever deploys once a week. */
export const maxOverlapSecs = 604_800;

/** A key as lists sort it: by what an admin, the file or the clock did to it, whatever its owner is. */
export const keyStatuses = ['active', 'revoked', 'expired'] as const;
export type KeyStatus = (typeof keyStatuses)[number];
