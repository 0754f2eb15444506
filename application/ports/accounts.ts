import type { Either } from 'fp-ts/lib/Either.js';
import type { PresentedKey } from '../../domain/identity/api-key.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { CodedError } from '../../domain/shared/gateway-error.ts';

export interface Accounts {
  /**
   * The caller whose key this is. `invalid_api_key` when the key is unknown, revoked, expired or of an inactive owner.
   * A revocation takes effect within 5 seconds.
   */
  readonly authenticate: (
    key: PresentedKey,
  ) => Promise<Either<CodedError<'invalid_api_key' | 'store_unavailable'>, Caller>>;
}

/** An owner as named in configurations and on the command line. */
export type OwnerRef =
  | { readonly kind: 'user'; readonly email: string }
  | { readonly kind: 'team'; readonly teamId: string }
  | { readonly kind: 'service_account'; readonly serviceAccountId: string };
