/** The unpadded base64url SHA-256 of a text: 43 characters. The domain takes it as an argument. */
export type Digest = (text: string) => string;
