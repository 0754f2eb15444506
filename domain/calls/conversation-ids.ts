/**
 * The ids of a chat conversation's calls, asked for in its order. Some upstreams reject a conversation in which two calls
 * have the same id, but chat callers may send one: some models begin with the same ids in each answer, and some give
 * all calls of an answer the same one. Each call of an id, and its result, are named by how many come before it
 * (rule 20.7).
 */
export class ConversationIds {
  private readonly nameOf: NameCall;
  /** How many calls so far have each id. */
  private readonly calls = new Map<string, number>();
  /** Of each id that calls of the latest answer have, how many calls come before the next one to get a result. */
  private answered = new Map<string, number>();

  constructor(nameOf: NameCall) {
    this.nameOf = nameOf;
  }

  /** Results that follow belong to the calls of the assistant message that begins here. */
  beginAnswer(): void {
    this.answered = new Map();
  }

  ofCall(id: string): string {
    const earlier = this.calls.get(id) ?? 0;
    this.calls.set(id, earlier + 1);
    if (!this.answered.has(id)) this.answered.set(id, earlier);
    return this.nameOf(id, earlier);
  }

  /** Whether a call so far has this id. */
  knows(id: string): boolean {
    return this.calls.has(id);
  }

  /** Several results for one id belong to the calls with this id in their order. */
  ofResult(id: string): string {
    const last = (this.calls.get(id) ?? 1) - 1;
    const next = Math.min(this.answered.get(id) ?? last, last);
    this.answered.set(id, next + 1);
    return this.nameOf(id, next);
  }
}

/** Returns the id that the upstream gets for a call, of which `earlier` calls have the same id. */
export type NameCall = (id: string, earlier: number) => string;
