import { isString, type JsonObject, membersOf } from '../shared/json.ts';

/**
 * A thought signature, where the compatible APIs of platform A put it. Clients send it back with what it signs, and the
 * platform's newest models reject their own calls without it.
 */
export const signed = (signature: string | undefined): JsonObject =>
  signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } };

/** The signature that a call, an image or a block carries. */
export function carriedSignature({ extra_content: extra }: JsonObject): string | undefined {
  const signature = membersOf(membersOf(extra)['google'])['thought_signature'];
  return isString(signature) && signature !== '' ? signature : undefined;
}
