import type { PresentedKey } from '../../domain/identity/api-key.ts';

/** The secrets of API keys and of admins' tokens: 256 random bits each. */
export interface KeySecrets {
  /** 32 hex of public id, 64 hex of secret. */
  readonly create: () => PresentedKey;
  /** What is kept of a secret. */
  readonly digest: (secret: string) => Uint8Array;
  /** Compared in constant time. */
  readonly isOf: (secret: string, digest: Uint8Array) => boolean;
}
