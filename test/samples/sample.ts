/** An upstream that a sample came from as far as the gateway knows; `upstreams.ts` has them. */
export type UpstreamName =
  | 'compat'
  | 'platform A, generation'
  | 'platform A, messages'
  | 'platform A, predict'
  | 'platform A, embed content'
  | 'platform B, converse'
  | 'platform B, invoke'
  | 'platform B, messages';

/** The families that callers speak. */
export type CallerFamily = 'chat_completions' | 'messages' | 'responses' | 'embeddings' | 'count_tokens';

/** How an answer ended, in chat's words; responses have words of their own. */
export type Finish =
  | 'stop'
  | 'length'
  | 'tool_calls'
  | 'content_filter'
  | 'completed'
  | 'incomplete'
  | 'failed';

export interface CallFacts {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

export interface UsageFacts {
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
}

/** What a sample says, whoever asks. */
export interface Facts {
  readonly text: string;
  /** Empty unless given. */
  readonly reasoning?: string;
  /** None unless given. */
  readonly calls?: readonly CallFacts[];
  /** Undefined where the answer broke off before it was said. */
  readonly finish?: Finish;
  /** What the ledger counts; undefined where the upstream told none. */
  readonly usage?: UsageFacts;
  /** What the caller is told of the failure; undefined where there is none. */
  readonly error?: string;
  /** What must be in the very bytes that a caller of this family gets, such as signatures. */
  readonly keeps?: Partial<Record<CallerFamily, readonly string[]>>;
}

/** An answer as an upstream sends it, with what it says. */
export interface Sample<F = Facts> {
  /** Ends the sentence `a caller of FAMILY gets …`. */
  readonly name: string;
  readonly upstream: UpstreamName;
  /** Who can be answered with it. */
  readonly callers: readonly CallerFamily[];
  readonly contentType: string;
  readonly body: Buffer;
  readonly facts: F;
}

/** An embeddings answer has vectors, as numbers or as base64, and no text. */
export interface VectorFacts {
  readonly vectors: readonly (readonly number[] | string)[];
  readonly usage?: UsageFacts;
}

export const eventStreamType = 'text/event-stream; charset=utf-8';
export const jsonType = 'application/json';

/** An event without a name. */
export const dataEvent = (payload: object | string, newline = '\n'): string =>
  `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}${newline}${newline}`;

/** A payload that says what it is. */
export interface TypedEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** An event under the name that its payload says. */
export const namedEvent = (payload: TypedEvent): string => `event: ${payload.type}\n${dataEvent(payload)}`;

export const bytesOf = (...pieces: readonly string[]): Buffer => Buffer.from(pieces.join(''));

export const jsonBytes = (body: object): Buffer => Buffer.from(JSON.stringify(body, undefined, 2));

/** What callers are told of a stream that ends before its answer does. */
export const cutShort = 'The upstream ended its stream before the answer was complete.';
