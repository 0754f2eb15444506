import type { GatewayError } from './gateway-error.ts';

/**
 * The canonical events of every stream: chunks, then `done` or `failed`, and nothing after either. What `done` sends to
 * the caller is held back until the ledger row is committed.
 */
export type StreamEvent<Chunk> = StreamChunk<Chunk> | StreamEnd<Chunk>;

export interface StreamChunk<Chunk> {
  readonly kind: 'chunk';
  readonly chunk: Chunk;
  /** The bytes that came in, when no rule touched the chunk. They are sent on as they are. */
  readonly wire: Uint8Array | undefined;
  /** The JSON that came in, when no rule touched the chunk. */
  readonly text?: string | undefined;
  /** The event name that a changed chunk came under, in streams whose event names are passed on. */
  readonly name?: string | undefined;
  /** The chunk completes the answer; usage and `done` may follow. */
  readonly terminal: boolean;
  /** The answer continues although it looked complete: another choice begins, or one says more. */
  readonly reopens?: true;
  /** The answer is incomplete without this chunk, so it is held back, with all later chunks, until `done`. */
  readonly held?: true;
  /** The chunk says that the answer has failed; `failed` follows soon. */
  readonly failing?: true;
}

export type StreamEnd<Chunk> =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed';
      readonly error: GatewayError;
      /** The chunk that reported the failure, if there was one. It may report usage. */
      readonly chunk?: Chunk;
      /** The caller already has the upstream's own error, so the gateway adds none. */
      readonly alreadyShown?: true;
    };
