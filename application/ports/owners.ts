import type { TeamRole, UserRole } from '../../domain/identity/owner-names.ts';
import type { Author, Change, Changed, Created } from './changes.ts';
import type { Page, PageRequest } from './page.ts';

interface StoredOwner {
  readonly name: string;
  readonly active: boolean;
  /** The owner is in the file, which wins when it is next applied. */
  readonly fromConfig: boolean;
  readonly createdAt: Date;
  readonly version: number;
}

export interface StoredUser extends StoredOwner {
  readonly userId: string;
  readonly email: string;
  readonly role: UserRole;
  readonly requestLoggingEnabled: boolean;
  readonly teams: readonly { readonly teamId: string; readonly role: TeamRole }[];
}

export interface StoredTeam extends StoredOwner {
  readonly teamId: string;
  readonly memberCount: number;
}

export interface StoredServiceAccount extends StoredOwner {
  readonly serviceAccountId: string;
  readonly teamId: string;
  readonly teamName: string;
}

/** The effects of deactivating an owner. */
export interface Deactivated {
  /** Keys that would be accepted otherwise. */
  readonly keysRefused: number;
  readonly sessionsEnded: number;
  /** API tokens of the admin API. */
  readonly tokensRevoked: number;
  /** The owner has a budget of its own, and keeps it. */
  readonly hasBudget: boolean;
}

/** `deactivated` is set only when the change deactivated the owner. */
export type OwnerChanged<A> =
  | (Extract<Changed<A>, { kind: 'done' }> & { readonly deactivated: Deactivated | undefined })
  | Exclude<Changed<A>, { kind: 'done' }>;

export interface UserFilter {
  /** Part of the address or the name, case-insensitive. */
  readonly email: string | undefined;
  readonly name: string | undefined;
  readonly active: boolean | undefined;
  readonly role: UserRole | undefined;
  readonly teamId: string | undefined;
}

export interface NewUser {
  readonly email: string;
  readonly name: string;
  readonly role: UserRole;
  readonly requestLoggingEnabled: boolean;
}

/** Fields that are `undefined` stay as they are. */
export interface UserPatch {
  readonly name: string | undefined;
  readonly role: UserRole | undefined;
  readonly requestLoggingEnabled: boolean | undefined;
  readonly active: boolean | undefined;
}

export type UserChanged =
  | OwnerChanged<StoredUser>
  /** The change would leave no active platform admin. */
  | { readonly kind: 'last_admin'; readonly present: StoredUser };

/** People. Lists are ordered by creation, newest first; each change writes its event. */
export interface Users {
  readonly page: (filter: UserFilter, page: PageRequest) => Promise<Page<StoredUser>>;
  readonly find: (userId: string) => Promise<StoredUser | undefined>;
  readonly create: (user: NewUser, author: Author) => Promise<Created<StoredUser>>;
  readonly change: (change: Change<string, UserPatch>) => Promise<UserChanged>;
}

export interface TeamFilter {
  readonly name: string | undefined;
  readonly active: boolean | undefined;
}

export interface TeamPatch {
  readonly name: string | undefined;
  readonly active: boolean | undefined;
}

/** A user's membership of a team. */
export interface Membership {
  readonly teamId: string;
  readonly userId: string;
  readonly role: TeamRole;
  readonly fromConfig: boolean;
  readonly createdAt: Date;
}

/** Which of the two does not exist; teams are checked first. */
export type NoMembership = { readonly kind: 'no_team' | 'no_user' };

export interface Teams {
  readonly page: (filter: TeamFilter, page: PageRequest) => Promise<Page<StoredTeam>>;
  readonly find: (teamId: string) => Promise<StoredTeam | undefined>;
  readonly create: (
    team: { readonly teamId: string; readonly name: string },
    author: Author,
  ) => Promise<Created<StoredTeam>>;
  readonly change: (change: Change<string, TeamPatch>) => Promise<OwnerChanged<StoredTeam>>;
  readonly setMember: (
    member: { readonly teamId: string; readonly userId: string; readonly role: TeamRole },
    author: Author,
  ) => Promise<{ readonly kind: 'done'; readonly present: Membership } | NoMembership>;
  /** `removed` is false when the user was not a member. */
  readonly removeMember: (
    member: { readonly teamId: string; readonly userId: string },
    author: Author,
  ) => Promise<{ readonly kind: 'done'; readonly removed: boolean } | NoMembership>;
}

export interface ServiceAccountFilter extends TeamFilter {
  readonly teamId: string | undefined;
}

export interface ServiceAccountPatch extends TeamPatch {
  /** The team that is charged from then on. */
  readonly teamId: string | undefined;
}

export interface NewServiceAccount {
  readonly serviceAccountId: string;
  readonly name: string;
  readonly teamId: string;
}

export interface ServiceAccounts {
  readonly page: (filter: ServiceAccountFilter, page: PageRequest) => Promise<Page<StoredServiceAccount>>;
  readonly find: (serviceAccountId: string) => Promise<StoredServiceAccount | undefined>;
  readonly create: (
    account: NewServiceAccount,
    author: Author,
  ) => Promise<Created<StoredServiceAccount> | { readonly kind: 'no_team' }>;
  readonly change: (
    change: Change<string, ServiceAccountPatch>,
  ) => Promise<OwnerChanged<StoredServiceAccount> | { readonly kind: 'no_team' }>;
}
