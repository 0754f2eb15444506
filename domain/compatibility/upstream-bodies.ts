import type { ApiFamily } from '../routing/model.ts';

/** Bodies that a request is written as. */
export const upstreamBodies = [
  'chat_completions',
  'responses',
  'generate_content',
  'raw_predict',
  'invoke',
  'endpointb_messages',
  'converse',
  'text_embeddings',
] as const;

export type UpstreamBody = (typeof upstreamBodies)[number];

/** Fields of a family that are not sent, nor refused, in these bodies: the answer is the same without them. */
export interface UnsentFields {
  readonly family: ApiFamily;
  /** `[]` is every entry of a list, a word in brackets the kind of the field that is meant. */
  readonly fields: readonly string[];
  readonly in: readonly UpstreamBody[];
  readonly because: string;
}

export const messagesBodies = ['raw_predict', 'invoke', 'endpointb_messages'] as const;
export const translatedChat = ['generate_content', ...messagesBodies, 'converse'] as const;
export const chatOfMessages = ['chat_completions', 'generate_content', 'converse'] as const;
