import type { ApiFamily } from '../routing/model.ts';

/** The bodies in which a request may be written for an upstream. */
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

/** Fields of a family that are neither sent nor rejected in these bodies: the answer is the same without them. */
export interface UnsentFields {
  readonly family: ApiFamily;
  /** `[]` stands for every entry of a list; words in brackets say which kind of the field is meant. */
  readonly fields: readonly string[];
  readonly in: readonly UpstreamBody[];
  readonly because: string;
}

export const messagesBodies = ['raw_predict', 'invoke', 'endpointb_messages'] as const;
export const translatedChat = ['generate_content', ...messagesBodies, 'converse'] as const;
export const chatOfMessages = ['chat_completions', 'generate_content', 'converse'] as const;
