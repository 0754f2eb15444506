import type { Either } from 'fp-ts/lib/Either.js';
import type { PresentedKey } from '../../domain/identity/api-key.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { CodedError } from '../../domain/shared/gateway-error.ts';

export interface Accounts {
  /**
   * Whose key this is; `invalid_api_key` where it is unknown, revoked or of an inactive owner. A revocation takes
   * effect within 5 seconds.
   */
  readonly authenticate: (
    key: PresentedKey,
  ) => Promise<Either<CodedError<'invalid_api_key' | 'store_unavailable'>, Caller>>;
}

/** A key as lists show it; never its secret. */
export interface KeySummary {
  readonly apiKeyId: string;
  readonly publicId: string;
  readonly name: string;
  /** In the words of the command line: `user:EMAIL`, `team:ID`, `service_account:ID`. */
  readonly owner: string;
  readonly allowedModels: readonly string[];
  readonly createdAt: Date;
  readonly revokedAt: Date | undefined;
}

/** An owner as configurations and the command line name it. */
export type OwnerRef =
  | { readonly kind: 'user'; readonly email: string }
  | { readonly kind: 'team'; readonly teamId: string }
  | { readonly kind: 'service_account'; readonly serviceAccountId: string };

export interface NewKey {
  readonly publicId: string;
  readonly secretSha256: Uint8Array;
  readonly name: string;
  readonly owner: OwnerRef;
  readonly allowedModels: readonly string[];
}

export interface Keys {
  /** The key's id, or undefined when there is no such owner. */
  readonly create: (key: NewKey) => Promise<string | undefined>;
  readonly list: () => Promise<readonly KeySummary[]>;
  /** False when there is no such key; revoking a revoked key changes nothing. */
  readonly revoke: (apiKeyId: string) => Promise<boolean>;
}
