import type { AdminSession } from '../../domain/identity/admin-session.ts';
import type { LoginTries } from '../../domain/identity/login-throttle.ts';
import type { SecondFactor, SignInMethod, UsedCode } from '../../domain/identity/second-factor.ts';
import type { UserRole } from '../../domain/identity/owner-names.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import type { ErrorCode } from '../../domain/shared/gateway-error.ts';

/** A person who may log in: active at the moment of the query. */
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
  readonly hasPassword: boolean;
  readonly hasSecondFactor: boolean;
  /** The database's time. */
  readonly now: number;
}

/** Sessions, looked up by the SHA-256 of their token. */
export interface AdminSessions {
  /** The session of that token, even one that is over; `undefined` when there is none. */
  readonly find: (tokenSha256: Uint8Array) => Promise<FoundSession | undefined>;
  /** Records that a session was seen; never revives one that has ended. */
  readonly note: (tokenSha256: Uint8Array, session: AdminSession) => Promise<void>;
  /** The person who may log in with this e-mail address, compared case-insensitively. */
  readonly personOf: (email: string) => Promise<PersonWithPassword | undefined>;
  /**
   * Opens a session. `undefined` when the person's password has changed since it was checked, or the code was used
   * before.
   */
  readonly open: (
    tokenSha256: Uint8Array,
    person: PersonWithPassword,
    session: (now: number) => AdminSession,
    used?: UsedCode,
  ) => Promise<AdminSession | undefined>;
  /** Ends a session. Resolves with the id of its person; `undefined` when there is no such session. */
  readonly end: (tokenSha256: Uint8Array) => Promise<string | undefined>;
}

/** Login attempts, counted over all replicas. */
export interface LoginAttempts {
  /** Counts an attempt before it is made, so that concurrent attempts cannot all pass. */
  readonly begin: (email: string, address: string) => Promise<LoginTries>;
  /** Clears the account's attempts from this address, after one that succeeded. */
  readonly forget: (email: string, address: string) => Promise<void>;
}

export interface Passwords {
  /** The hash of a password that is stored, in PHC format. */
  readonly hash: (password: string) => Promise<string>;
  /** Does as much work without a hash as with one, so that timing does not reveal whether the account exists. */
  readonly verify: (hash: string | undefined, password: string) => Promise<boolean>;
  /** Whether it is one of the passwords that are guessed first, or derived from one. */
  readonly isCommon: (password: string) => Promise<boolean>;
  /** Encrypts with a key derived from the password. */
  readonly seal: (password: string, secret: Uint8Array) => Promise<Uint8Array>;
  /** Decrypts what was sealed with this very password; throws for any other. */
  readonly unseal: (password: string, sealed: Uint8Array) => Promise<Uint8Array>;
}

export interface SessionTokens {
  /** 256 random bits, as text. */
  readonly create: () => string;
  readonly digest: (token: string) => Uint8Array;
}

/** The platform admins. */
export interface Admins {
  /** Whether an active platform admin has a password. */
  readonly exist: () => Promise<boolean>;
  /**
   * Creates the person if there is none, makes them a platform admin and sets the password, which ends their sessions
   * and removes their second factor.
   */
  readonly set: (email: string, passwordHash: string) => Promise<void>;
  /** The same unless a platform admin with a password exists; false then. Of several replicas only one does it. */
  readonly setFirst: (email: string, passwordHash: string) => Promise<boolean>;
}

/** Log fields of a finished call of the admin API; never a body, a password or a token. */
export interface EndedAdminCall {
  readonly requestId: RequestId;
  readonly method: string;
  /** The pattern of the path. */
  readonly route: string;
  readonly isLogin: boolean;
  /** 499 when the client disconnected before the answer. */
  readonly status: number;
  readonly errorCode: ErrorCode | undefined;
  /** Why somebody was not signed in, where the answer does not say it; holds no secret. */
  readonly reason?: string | undefined;
  readonly latencyMs: number;
  /** `undefined` when nobody was logged in. */
  readonly userId: string | undefined;
  /** The e-mail address given in a login: any text. */
  readonly email: string | undefined;
  readonly address: string;
}
