import type { KeyStatus } from '../../domain/identity/api-key.ts';
import type { KeyOwner } from '../../domain/identity/caller.ts';
import type { OwnerRef } from './accounts.ts';
import type { Author, Change, Changed } from './changes.ts';
import type { Page, PageRequest } from './page.ts';

/** A person, as shown to others as the author of something. */
export interface Creator {
  readonly userId: string;
  readonly name: string;
}

/** A key as shown to admins; never its secret. */
export interface StoredKey {
  readonly apiKeyId: string;
  readonly publicId: string;
  readonly name: string;
  readonly ownerKind: KeyOwner['kind'];
  /** The user's UUID, or the id of the team or service account. */
  readonly ownerId: string;
  readonly ownerName: string;
  /** In the notation of the command line: `user:EMAIL`, `team:ID`, `service_account:ID`. */
  readonly owner: string;
  /** Empty means every model. */
  readonly allowedModels: readonly string[];
  readonly expiresAt: Date | undefined;
  /** Until when the secret before the last rotation is valid; `undefined` when it is not. */
  readonly previousExpiresAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  readonly revokedBy: 'admin' | 'config' | undefined;
  /** A UTC day, such as `2026-01-31`. */
  readonly lastUsedOn: string | undefined;
  readonly fromConfig: boolean;
  readonly createdAt: Date;
  readonly createdBy: Creator | undefined;
  readonly version: number;
  /** Whether it would be accepted: not revoked, not expired, and of an owner (and an owner's team) that is active. */
  readonly active: boolean;
}

export interface KeyFilter {
  readonly ownerKind: KeyOwner['kind'] | undefined;
  readonly ownerId: string | undefined;
  /** Part of the name, case-insensitive. */
  readonly name: string | undefined;
  readonly status: KeyStatus | undefined;
}

/** An owner by the name that the file uses, or a user by id. */
export type KeyOwnerRef = OwnerRef | { readonly kind: 'user'; readonly userId: string };

export interface NewKey {
  readonly publicId: string;
  readonly secretSha256: Uint8Array;
  readonly name: string;
  readonly owner: KeyOwnerRef;
  readonly allowedModels: readonly string[];
  readonly expiresAt: Date | undefined;
}

/** Fields that are `undefined` stay as they are. */
export interface KeyPatch {
  readonly name: string | undefined;
  readonly allowedModels: readonly string[] | undefined;
  /** `null`: the key does not expire. */
  readonly expiresAt: Date | null | undefined;
}

/** A new secret; the previous one stays valid for `overlapSecs`. */
export interface KeyRotation {
  readonly secretSha256: Uint8Array;
  readonly overlapSecs: number;
}

/** Models that a key is to be limited to but that do not exist. */
interface UnknownModels {
  readonly kind: 'unknown_models';
  readonly models: readonly string[];
}

export type KeyCreated =
  | { readonly kind: 'done'; readonly present: StoredKey }
  | { readonly kind: 'no_owner' | 'inactive_owner' }
  | UnknownModels;

export type KeyChanged = Changed<StoredKey> | UnknownModels;

export type KeyRotated = Changed<StoredKey> | { readonly kind: 'revoked' };

/** API keys, for admins. Every change writes its event, and reaches every replica within 5 seconds. */
export interface Keys {
  readonly create: (key: NewKey, author: Author) => Promise<KeyCreated>;
  /** Newest first. */
  readonly page: (filter: KeyFilter, page: PageRequest) => Promise<Page<StoredKey>>;
  readonly find: (apiKeyId: string) => Promise<StoredKey | undefined>;
  readonly change: (change: Change<string, KeyPatch>) => Promise<KeyChanged>;
  readonly rotate: (change: Change<string, KeyRotation>) => Promise<KeyRotated>;
  /** Revoking a revoked key changes nothing. */
  readonly revoke: (change: Omit<Change<string, never>, 'patch'>) => Promise<Changed<StoredKey>>;
}
