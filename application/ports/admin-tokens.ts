import type { TokenScope } from '../../domain/identity/admin-token.ts';
import type { Person } from './admin-access.ts';
import type { Author } from './changes.ts';
import type { Creator } from './keys.ts';
import type { Page, PageAsk } from './page.ts';

/** An admin's token as admins see it; never its secret. */
export interface StoredToken {
  readonly adminTokenId: string;
  readonly publicId: string;
  readonly name: string;
  readonly scope: TokenScope;
  /** Whose it is: it may do what this person may. */
  readonly createdBy: Creator;
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  /** UTC day, as `2026-01-31`. */
  readonly lastUsedOn: string | undefined;
  readonly revokedAt: Date | undefined;
  /** It would be let in: not revoked, not expired, and of an active platform admin. */
  readonly active: boolean;
}

export interface NewToken {
  readonly publicId: string;
  readonly secretSha256: Uint8Array;
  readonly name: string;
  readonly scope: TokenScope;
  readonly expiresAt: Date | undefined;
}

/** A token that is in force, with the digest that its secret must have. */
export interface FoundToken {
  readonly adminTokenId: string;
  readonly scope: TokenScope;
  readonly secretSha256: Uint8Array;
  readonly person: Person;
  /** The day of its last call is noted already. */
  readonly usedToday: boolean;
}

/** Tokens of the admin API, read anew at each call: what one replica revokes is over on all of them. */
export interface AdminTokens {
  /** Neither revoked nor expired, and of an active person. */
  readonly find: (publicId: string) => Promise<FoundToken | undefined>;
  /** Notes the day of a call. */
  readonly noteUse: (adminTokenId: string) => Promise<void>;
  /** It is the author's. */
  readonly create: (token: NewToken, author: NonNullable<Author>) => Promise<StoredToken>;
  /** Newest first. */
  readonly page: (ask: PageAsk) => Promise<Page<StoredToken>>;
  /** Undefined: there is none. Revoking a revoked token changes nothing. */
  readonly revoke: (adminTokenId: string, author: Author) => Promise<StoredToken | undefined>;
}
