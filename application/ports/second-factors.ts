import type { SecondFactor, UsedCode } from '../../domain/identity/second-factor.ts';
import type { PersonWithPassword } from './admin-access.ts';

/** Time-based one-time codes (RFC 6238), and the recovery codes that replace them. */
export interface OneTimeCodes {
  /** 160 random bits. */
  readonly newSecret: () => Uint8Array;
  /** Whether these digits are the code of the given time step. */
  readonly isCodeOf: (secret: Uint8Array, step: number, digits: string) => boolean;
  /** What an authenticator is set up with: the secret as people type it, and the same as a link. */
  readonly setUp: (
    secret: Uint8Array,
    email: string,
  ) => { readonly secret: string; readonly otpauthUri: string };
  /** Suitable for {@link recoveryCodeOf}. */
  readonly randomBase32: () => string;
}

/** Who makes a change, and in which session. */
export interface OwnChange {
  /** As it was when the password was checked; if the person has changed meanwhile, the change is void. */
  readonly person: PersonWithPassword;
  /** The session that is kept. */
  readonly tokenSha256: Uint8Array;
  readonly address: string;
}

/**
 * Changes that people make to their own login. False: the password has changed meanwhile, or another change came first.
 */
export interface OwnAccess {
  readonly beginFactor: (change: OwnChange, sealedSecret: Uint8Array) => Promise<boolean>;
  readonly begunFactor: (userId: string) => Promise<Uint8Array | undefined>;
  /** Ends the person's other sessions, because they were opened without the factor. */
  readonly confirmFactor: (
    change: OwnChange,
    factor: SecondFactor,
    recoverySha256: readonly Uint8Array[],
  ) => Promise<boolean>;
  readonly removeFactor: (change: OwnChange, used: UsedCode) => Promise<boolean>;
  /** Ends the person's other sessions. A factor that was begun but not confirmed is removed. */
  readonly changePassword: (
    change: OwnChange,
    passwordHash: string,
    sealedSecret: Uint8Array | undefined,
  ) => Promise<boolean>;
}
