import type { SecondFactor, UsedCode } from '../../domain/identity/second-factor.ts';
import type { PersonWithPassword } from './admin-access.ts';

/** One-time codes by time (RFC 6238), and codes that stand for them. */
export interface OneTimeCodes {
  /** 160 random bits. */
  readonly newSecret: () => Uint8Array;
  /** Of a given step: whether these digits are its code. */
  readonly isCodeOf: (secret: Uint8Array, step: number, digits: string) => boolean;
  /** What an authenticator is set up with: the secret as people type it, and the same as a link. */
  readonly setUp: (
    secret: Uint8Array,
    email: string,
  ) => { readonly secret: string; readonly otpauthUri: string };
  /** Fit for {@link recoveryCodeOf}. */
  readonly randomBase32: () => string;
}

/** Who makes a change, and by which session. */
export interface OwnChange {
  /** As it was when the password was checked; what has become of it meanwhile makes the change void. */
  readonly person: PersonWithPassword;
  /** The session that stays. */
  readonly tokenSha256: Uint8Array;
  readonly address: string;
}

/** What people change of their own way in. False: the password is another one now, or somebody was quicker. */
export interface OwnAccess {
  readonly beginFactor: (change: OwnChange, sealedSecret: Uint8Array) => Promise<boolean>;
  readonly begunFactor: (userId: string) => Promise<Uint8Array | undefined>;
  /** Ends the person's other sessions: they were opened without the factor. */
  readonly confirmFactor: (
    change: OwnChange,
    factor: SecondFactor,
    recoverySha256: readonly Uint8Array[],
  ) => Promise<boolean>;
  readonly removeFactor: (change: OwnChange, used: UsedCode) => Promise<boolean>;
  /** Ends the person's other sessions. A factor that was begun and not confirmed is gone. */
  readonly changePassword: (
    change: OwnChange,
    passwordHash: string,
    sealedSecret: Uint8Array | undefined,
  ) => Promise<boolean>;
}
