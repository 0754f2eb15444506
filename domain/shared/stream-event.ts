import type { GatewayError } from './gateway-error.ts';

/**
 * The canonical events of every stream: chunks, then `done` or `failed`, and nothing after either. What `done`
 * sends is held back until the ledger row is committed.
 */
export type StreamEvent<Chunk> = StreamChunk<Chunk> | StreamEnd<Chunk>;

export interface StreamChunk<Chunk> {
  readonly kind: 'chunk';
  readonly chunk: Chunk;
  /** The bytes that came in, when no rule touched the chunk: they are what goes out. */
  readonly wire: Uint8Array | undefined;
  /** The JSON that came in, where no rule touched the chunk. */
  readonly text?: string | undefined;
  /** The name that the event of a touched chunk came under, in streams whose names are passed on. */
  readonly name?: string | undefined;
  /** The chunk says that the answer is complete; usage and `done` may follow. */
  readonly terminal: boolean;
  /** The answer goes on, though it looked complete: another choice of it begins. */
  readonly reopens?: true;
  /** The answer is not complete without this chunk: it leaves with `done`, and so does what comes after it. */
  readonly held?: true;
  /** The chunk says that the answer has failed; `failed` follows soon. */
  readonly failing?: true;
}

export type StreamEnd<Chunk> =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed';
      readonly error: GatewayError;
      /** The chunk that told of the failure, where there was one: it may say what was used. */
      readonly chunk?: Chunk;
      /** The caller has the upstream's own words for it already: the gateway adds none. */
      readonly alreadyShown?: true;
    };
