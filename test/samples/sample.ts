/** An upstream of samples, as the gateway distinguishes upstreams; they are listed in `upstreams.ts`. */
export type UpstreamName =
  | 'compat'
  | 'platform A, generation'
  | 'platform A, messages'
  | 'platform A, predict'
  | 'platform A, embed content'
  | 'platform B, converse'
  | 'platform B, invoke'
  | 'platform B, messages';

/** The API families of callers. */
export type CallerFamily = 'chat_completions' | 'messages' | 'responses' | 'embeddings' | 'count_tokens';

/** How an answer ended, in the values of chat completions; the responses family has values of its own. */
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

/** The content of a sample, which is the same for every family. */
export interface Facts {
  readonly text: string;
  /** Empty unless given. */
  readonly reasoning?: string;
  /** None unless given. */
  readonly calls?: readonly CallFacts[];
  /** Undefined if the answer was cut off before. */
  readonly finish?: Finish;
  /** What the ledger counts; undefined if the upstream reported none. */
  readonly usage?: UsageFacts;
  /** The error that the caller receives; undefined if there is none. */
  readonly error?: string;
  /** Text that the bytes for a caller of this family must contain, such as signatures. */
  readonly keeps?: Partial<Record<CallerFamily, readonly string[]>>;
}

/** An answer as an upstream sends it, with its meaning. */
export interface Sample<F = Facts> {
  /** Ends the sentence `a caller of FAMILY gets …`. */
  readonly name: string;
  readonly upstream: UpstreamName;
  /** The families that can be answered with it. */
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

/** A payload with its type. */
export interface TypedEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** An event named after the type of its payload. */
export const namedEvent = (payload: TypedEvent): string => `event: ${payload.type}\n${dataEvent(payload)}`;

export const bytesOf = (...pieces: readonly string[]): Buffer => Buffer.from(pieces.join(''));

export const jsonBytes = (body: object): Buffer => Buffer.from(JSON.stringify(body, undefined, 2));

/** The error for callers when a stream ends before its answer. */
export const cutShort = 'The upstream ended its stream before the answer was complete.';
