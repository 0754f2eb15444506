import type { AdminSession } from '../../domain/identity/admin-session.ts';
import type { LoginTries } from '../../domain/identity/login-throttle.ts';
import type { SecondFactor, SignInMethod, UsedCode } from '../../domain/identity/second-factor.ts';
import type { UserRole } from '../../domain/identity/owner-names.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import type { ErrorCode } from '../../domain/shared/gateway-error.ts';

/** A person who may log in: active, and read at the moment it is asked for. */
export interface Person {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly role: UserRole;
}

export interface PersonWithPassword extends Person {
  /** In PHC format. */
  readonly passwordHash: string;
  readonly secondFactor?: SecondFactor | undefined;
}

export interface FoundSession {
  readonly session: AdminSession;
  readonly person: Person;
  readonly signedInBy: SignInMethod;
  readonly hasSecondFactor: boolean;
  /** The database's time. */
  readonly now: number;
}

/** Sessions by the SHA-256 of their token. */
export interface AdminSessions {
  /** The person's session of that token, also one that is over; undefined when there is none. */
  readonly find: (tokenSha256: Uint8Array) => Promise<FoundSession | undefined>;
  /** Notes that a session was seen; never brings back one that has ended. */
  readonly note: (tokenSha256: Uint8Array, session: AdminSession) => Promise<void>;
  /** Who may log in with this e-mail address, in any case of letters. */
  readonly personOf: (email: string) => Promise<PersonWithPassword | undefined>;
  /** Undefined when the password that was checked is no longer the person's, or the code was used before. */
  readonly open: (
    tokenSha256: Uint8Array,
    person: PersonWithPassword,
    session: (now: number) => AdminSession,
    used?: UsedCode,
  ) => Promise<AdminSession | undefined>;
  /** The id of the person whose session it was; undefined when there is none. */
  readonly end: (tokenSha256: Uint8Array) => Promise<string | undefined>;
}

/** What was tried, counted over all replicas. */
export interface LoginAttempts {
  /** Counts a try before it is made, so that tries at once cannot all pass. */
  readonly begin: (email: string, address: string) => Promise<LoginTries>;
  /** The account's tries from this address were good. */
  readonly forget: (email: string, address: string) => Promise<void>;
}

export interface Passwords {
  /** The hash that is kept of a password, in PHC format. */
  readonly hash: (password: string) => Promise<string>;
  /** As much work without a hash as with one: the time of the answer does not show whether the account is there. */
  readonly verify: (hash: string | undefined, password: string) => Promise<boolean>;
  /** Whether it is among those that are guessed first, or made of them. */
  readonly isCommon: (password: string) => Promise<boolean>;
  /** Encrypts with a key that the password makes. */
  readonly seal: (password: string, secret: Uint8Array) => Promise<Uint8Array>;
  /** What was sealed with this very password; throws for any other. */
  readonly unseal: (password: string, sealed: Uint8Array) => Promise<Uint8Array>;
}

export interface SessionTokens {
  /** 256 random bits, as text. */
  readonly create: () => string;
  readonly digest: (token: string) => Uint8Array;
}

/** Who the platform admins are. */
export interface Admins {
  /** True when an active platform admin has a password. */
  readonly exist: () => Promise<boolean>;
  /**
   * Makes the person if there is none, and a platform admin; sets the password, which ends the person's sessions and
   * their second factor.
   */
  readonly set: (email: string, passwordHash: string) => Promise<void>;
  /** The same unless a platform admin with a password exists; false then. Only one of many replicas does it. */
  readonly setFirst: (email: string, passwordHash: string) => Promise<boolean>;
}

/** What is logged of a call of the admin API that is over; never a body, a password or a token. */
export interface EndedAdminCall {
  readonly requestId: RequestId;
  readonly method: string;
  /** The pattern of its path. */
  readonly route: string;
  readonly isLogin: boolean;
  /** 499: the caller left before the answer. */
  readonly status: number;
  readonly errorCode: ErrorCode | undefined;
  /** Why somebody was not signed in, where the answer does not say it; without a secret. */
  readonly reason?: string | undefined;
  readonly latencyMs: number;
  /** Undefined: nobody was logged in. */
  readonly userId: string | undefined;
  /** What a login gave as its e-mail address: any text. */
  readonly email: string | undefined;
  readonly address: string;
}
