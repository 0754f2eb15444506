import type { RateLimit } from '../limits/rate-limit.ts';

/** Who pays: budgets and spend belong to a user or a team. */
export type Owner =
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'team'; readonly teamId: string };

/** Who owns a key. A service account's spend belongs to its team. */
export type KeyOwner =
  | { readonly kind: 'user'; readonly userId: string; readonly requestLoggingEnabled: boolean }
  | { readonly kind: 'team'; readonly teamId: string }
  | { readonly kind: 'service_account'; readonly serviceAccountId: string; readonly teamId: string };

/** A user by the names that a configuration uses. */
export interface UserNames {
  /** In lower case. */
  readonly email: string;
  /** The active teams that the user is a member of. */
  readonly teamIds: readonly string[];
}

/** Who makes a request: an authenticated caller of the public API, or the owner for whom an admin tests a model. */
export interface Caller {
  /** `undefined` when the request has no key (rule 49.8). */
  readonly apiKeyId: string | undefined;
  readonly keyOwner: KeyOwner;
  /** Empty means every model. */
  readonly allowedModels: readonly string[];
  /** The user by the names of the configuration; absent when the key is not a user's. */
  readonly person?: UserNames;
  /** The rate limits of the key and of its owner; absent when neither has one. */
  readonly limits?: readonly RateLimit[];
}

export const ownerOf = (caller: Caller): Owner =>
  caller.keyOwner.kind === 'user'
    ? { kind: 'user', userId: caller.keyOwner.userId }
    : { kind: 'team', teamId: caller.keyOwner.teamId };

/** Ownership scope key shapes: user `user:<user_id>`; team `team:<team_id>:actor:none`. */
export const ownershipScopeKey = (owner: Owner): string =>
  owner.kind === 'user' ? `user:${owner.userId}` : `team:${owner.teamId}:actor:none`;

/** The ownership scope in which a caller's requests count. */
export const scopeOf = (caller: Caller): string => ownershipScopeKey(ownerOf(caller));

export const mayUseModel = (caller: Caller, modelId: string): boolean =>
  caller.allowedModels.length === 0 || caller.allowedModels.includes(modelId);

/** Those of some models, by their ids, that a caller may use. */
export const usableModels = <A>({ allowedModels }: Caller, models: ReadonlyMap<string, A>): A[] =>
  allowedModels.length === 0
    ? [...models.values()]
    : [...new Set(allowedModels)].flatMap((id) => models.get(id) ?? []);
