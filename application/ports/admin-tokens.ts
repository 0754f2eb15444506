import type { TokenScope } from '../../domain/identity/admin-token.ts';
import type { Person } from './admin-access.ts';
import type { Author } from './changes.ts';
import type { Creator } from './keys.ts';
import type { Page, PageRequest } from './page.ts';

/** An admin's token as shown to admins; never its secret. */
export interface StoredToken {
  readonly adminTokenId: string;
  readonly publicId: string;
  readonly name: string;
  readonly scope: TokenScope;
  /** Its owner: the token may do what this person may. */
  readonly createdBy: Creator;
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  /** A UTC day, such as `2026-01-31`. */
  readonly lastUsedOn: string | undefined;
  readonly revokedAt: Date | undefined;
  /** Whether it would be accepted: not revoked, not expired, and of an active platform admin. */
  readonly active: boolean;
}

export interface NewToken {
  readonly publicId: string;
  readonly secretSha256: Uint8Array;
  readonly name: string;
  readonly scope: TokenScope;
  readonly expiresAt: Date | undefined;
}

/** A valid token, with the digest of its secret. */
export interface FoundToken {
  readonly adminTokenId: string;
  readonly scope: TokenScope;
  readonly secretSha256: Uint8Array;
  readonly person: Person;
  /** Whether the day of its last call is already today. */
  readonly usedToday: boolean;
}

/** Tokens of the admin API, read from the database at each call, so that a revocation on one replica holds on all. */
export interface AdminTokens {
  /** `undefined` unless the token is neither revoked nor expired, and its person is active. */
  readonly find: (publicId: string) => Promise<FoundToken | undefined>;
  /** Records the day of a call. */
  readonly noteUse: (adminTokenId: string) => Promise<void>;
  /** Creates a token of the author. */
  readonly create: (token: NewToken, author: NonNullable<Author>) => Promise<StoredToken>;
  /** Newest first. */
  readonly page: (page: PageRequest) => Promise<Page<StoredToken>>;
  /** `undefined` when there is no such token. Revoking a revoked token changes nothing. */
  readonly revoke: (adminTokenId: string, author: Author) => Promise<StoredToken | undefined>;
}
