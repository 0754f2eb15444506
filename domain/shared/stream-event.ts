import type { GatewayError } from './gateway-error.ts';

/**
 * The canonical events of every stream: chunks, then `done` or `failed`, and nothing after either. What `done`
 * sends, a held chunk and `[DONE]`, leaves only after the ledger row is committed.
 */
export type StreamEvent<Chunk> = StreamChunk<Chunk> | StreamEnd<Chunk>;

export interface StreamChunk<Chunk> {
  readonly kind: 'chunk';
  readonly chunk: Chunk;
  /** The bytes that came in, when no rule touched the chunk: they are what goes out. */
  readonly wire: Uint8Array | undefined;
  /** The chunk says that the answer is complete; usage and `done` may follow. */
  readonly terminal: boolean;
  /** The chunk says that the answer has failed; `failed` follows soon. */
  readonly failing?: true;
}

export type StreamEnd<Chunk> =
  | {
      readonly kind: 'done';
      /** The chunk without which the answer is not complete, in families that have one. */
      readonly held?: StreamChunk<Chunk>;
    }
  | {
      readonly kind: 'failed';
      readonly error: GatewayError;
      /** The chunk that told of the failure, where there was one: it may say what was used. */
      readonly chunk?: Chunk;
      /** The caller has the upstream's own words for it already: the gateway adds none. */
      readonly told?: true;
    };
