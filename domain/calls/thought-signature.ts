import { isString, type JsonObject, membersOf, objectsOf } from '../shared/json.ts';
import { maxHeldBackChars } from '../shared/limits.ts';

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

/**
 * The encrypted thoughts of an answer that belong to its calls. Aggregators give a signature in `reasoning_details`, as
 * a block with the id of the call that it signs, and reject a conversation with calls of such models that lacks it
 * (rule 33.48).
 */
export class EncryptedThoughts {
  private readonly byCall = new Map<string, JsonObject>();
  private chars = 0;

  /** Learns those of a message or delta: they arrive before their call, or with it. */
  see({ reasoning_details: details }: JsonObject): void {
    for (const detail of objectsOf(details)) {
      const { type, id, data } = detail;
      if (type !== 'reasoning.encrypted' || !isString(id) || id === '' || !isString(data)) continue;
      this.chars += data.length;
      if (this.chars <= maxHeldBackChars) this.byCall.set(id, detail);
    }
  }

  /** As a member of the call that has this id in the answer, and `newId` for the caller. */
  of(id: string, newId: string): JsonObject {
    const detail = this.byCall.get(id);
    return detail === undefined ? {} : { extra_content: { reasoning_details: [{ ...detail, id: newId }] } };
  }
}

/**
 * Whether a model signs its calls, by its id at an aggregator. After a change of models the thoughts are not sent: other
 * models cannot read them, and strict APIs reject the field.
 */
export const signsCalls = (upstreamModel: string): boolean => /gemini/i.test(upstreamModel);

/** The encrypted thoughts that a call carries. */
export const carriedThoughts = ({ extra_content: extra }: JsonObject): readonly JsonObject[] =>
  objectsOf(membersOf(extra)['reasoning_details']);
