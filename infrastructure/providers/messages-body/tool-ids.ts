import type { Digest } from '../../../domain/shared/digest.ts';

/** The ids of tool calls that an upstream takes. */
const idShape = /^[A-Za-z0-9_-]{1,64}$/;

/** Returns an id that the upstream takes. */
export type BoundId = (id: string) => string;

/**
 * Valid provider-native ids are preserved. Invalid or overlong tool-use and result ids are replaced on both sides of
 * the pair by the same deterministic bounded value `tool_<SHA-256>`.
 */
export const boundedToolId =
  (digest: Digest, shape: RegExp = idShape): BoundId =>
  (id) =>
    shape.test(id) ? id : `tool_${digest(id)}`;

/**
 * The ids of a chat conversation's calls, asked for in its order. The upstreams reject a conversation in which two calls
 * have the same id, but chat callers may send one: some models begin with the same ids in each answer, and some give
 * all calls of an answer the same one. The first call keeps its id; each later one gets an id of its own, and so does
 * its result (rule 20.7).
 */
export class ConversationIds {
  private readonly digest: Digest;
  private readonly boundId: BoundId;
  /** How many calls so far have each id. */
  private readonly calls = new Map<string, number>();
  /** Of each id that calls of the latest answer have, how many calls come before the next one to get a result. */
  private answered = new Map<string, number>();

  constructor(digest: Digest, shape?: RegExp) {
    this.digest = digest;
    this.boundId = boundedToolId(digest, shape);
  }

  /** Results that follow belong to the calls of the assistant message that begins here. */
  beginAnswer(): void {
    this.answered = new Map();
  }

  ofCall(id: string): string {
    const earlier = this.calls.get(id) ?? 0;
    this.calls.set(id, earlier + 1);
    if (!this.answered.has(id)) this.answered.set(id, earlier);
    return this.numbered(id, earlier);
  }

  /** Several results for one id belong to the calls with this id in their order. */
  ofResult(id: string): string {
    const last = (this.calls.get(id) ?? 1) - 1;
    const next = Math.min(this.answered.get(id) ?? last, last);
    this.answered.set(id, next + 1);
    return this.numbered(id, next);
  }

  private numbered(id: string, earlier: number): string {
    return earlier === 0 ? this.boundId(id) : `tool_${this.digest(`${id}\n${earlier}`)}`;
  }
}
