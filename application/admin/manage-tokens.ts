import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { formatToken, parseToken, tokenEndFault } from '../../domain/identity/admin-token.ts';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import type { AdminActor } from '../ports/admin-events.ts';
import type { AdminTokens, FoundToken, NewToken, StoredToken } from '../ports/admin-tokens.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeySecrets } from '../ports/key-secrets.ts';

export interface TokenPorts {
  readonly adminTokens: AdminTokens;
  readonly secrets: KeySecrets;
}

export type TokenInput = Omit<NewToken, 'publicId' | 'secretSha256'>;

/** A token and, only this once, its full text: `gwa_<public id>.<secret>`. */
export interface ShownToken {
  readonly stored: StoredToken;
  readonly token: string;
}

export interface CreateTokenPorts extends TokenPorts {
  readonly clock: Pick<Clock, 'now'>;
  /** Whether the identity provider decides who is an admin, in the current configuration. */
  readonly rolesByProvider: () => boolean;
}

/** Creates a token of the admin who is logged in. */
export const createToken =
  ({ adminTokens, secrets, clock, rolesByProvider }: CreateTokenPorts) =>
  async (input: TokenInput, author: AdminActor): Promise<Either<GatewayError, ShownToken>> => {
    const fault = tokenEndFault(input.expiresAt?.getTime(), clock.now(), { byProvider: rolesByProvider() });
    if (fault !== undefined) return E.left(invalidRequest(fault, 'expires_at'));
    const { publicId, secret } = secrets.create();
    const stored = await adminTokens.create(
      { ...input, publicId, secretSha256: secrets.digest(secret) },
      author,
    );
    return E.right({ stored, token: formatToken({ publicId, secret }) });
  };

const badToken: GatewayError = {
  code: 'invalid_credentials',
  message: 'This API token is not valid: it is unknown, revoked or expired, or its owner is not active.',
};

/**
 * Authenticates a token. Attempts need no throttling beyond the gate of the admin API: 256 random bits cannot be
 * guessed, and a malformed token is rejected without a query.
 */
export const bearerOf =
  ({ adminTokens, secrets }: TokenPorts) =>
  async (shown: string): Promise<Either<GatewayError, FoundToken>> => {
    const token = parseToken(shown);
    const found = token === undefined ? undefined : await adminTokens.find(token.publicId);
    if (token === undefined || found === undefined || !secrets.isOf(token.secret, found.secretSha256))
      return E.left(badToken);
    if (!found.usedToday) await adminTokens.noteUse(found.adminTokenId);
    return E.right(found);
  };
