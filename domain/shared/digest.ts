/**
 * Unpadded base64url SHA-256 of a text: 43 characters. The domain has no hash function, so it takes this as an
 * argument.
 */
export type Digest = (text: string) => string;
