import type { PresentedKey } from '../../domain/identity/api-key.ts';

/** The secrets of API keys and of admins' tokens: 256 random bits each. */
export interface KeySecrets {
  /** 32 hex digits of public id, 64 of secret. */
  readonly create: () => PresentedKey;
  /** The digest of a secret, which is what is stored. */
  readonly digest: (secret: string) => Uint8Array;
  /** Compared in constant time. */
  readonly isOf: (secret: string, digest: Uint8Array) => boolean;
}
