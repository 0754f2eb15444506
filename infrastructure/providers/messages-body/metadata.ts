import type { Json, JsonObject } from '../../../domain/shared/json.ts';

/** What of a native answer has no word in chat; blocks are those that are neither text nor a call of the caller's tools. */
export type NativeParts = Readonly<Partial<Record<'reasoning' | 'citations' | 'blocks', readonly Json[]>>>;

export const isThinking = ({ type }: JsonObject): boolean =>
  type === 'thinking' || type === 'redacted_thinking';
