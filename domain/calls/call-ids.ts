/** The id of an answer that the gateway translates, from which ids of its calls are made. */
interface AnswerId {
  readonly id: string;
}

/** An id for a call to which the upstream gave none: the same for the same call, streamed or whole. */
export const callId = ({ id }: AnswerId, choice: number, ordinal: number): string =>
  `call_${answerInCalls(id)}_${choice}_${ordinal}`;

/**
 * The part of an answer's id that is in the ids of its calls: the last 24 digits, which include all random ones. The
 * caller may continue with a model of OpenAI, whose API rejects ids of calls with more than 40 characters (rule 35.48).
 */
const answerInCalls = (id: string): string => id.replace(/^(?:chatcmpl-|msg_)/, '').slice(-24);

/**
 * The ids of an answer's calls. Messages callers find the result of a call by its id, but some upstreams give none, some
 * give all calls of an answer the same one, and some begin with the same ids in each answer of a conversation. A call
 * without an id of its own gets a generated one, the same whether the answer is streamed or whole (rule 35.40).
 */
export class CallIds {
  private readonly answer: string;
  private readonly given: Set<string>;

  /** `earlier` are the ids of the conversation's calls so far. */
  constructor({ id }: AnswerId, earlier: readonly string[] = []) {
    this.answer = answerInCalls(id);
    this.given = new Set(earlier);
  }

  /** `ordinal` is the call's place in the answer. */
  give(id: string, ordinal: number): string {
    if (id === '' || this.given.has(id)) return `toolu_${this.answer}_${ordinal}`;
    this.given.add(id);
    return id;
  }
}
