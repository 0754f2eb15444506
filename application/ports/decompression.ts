import type { ContentCoding } from '../../domain/shared/content-coding.ts';

/** Takes a compressed body in pieces. */
export interface Decompression {
  readonly write: (piece: Buffer) => void;
  /** Signals that there are no more pieces. */
  readonly end: () => void;
  /** Stops the output until `resume`. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Stops the output for good; no further function is called. */
  readonly cancel: () => void;
}

/** Receives the decompressed body as it comes out. */
export interface DecompressedBody {
  readonly take: (piece: Buffer) => void;
  /**
   * Called once, and last. `whole` is false when the body is not in its coding, is truncated, or has bytes after its
   * end.
   */
  readonly over: (whole: boolean) => void;
  /** Asks for no more pieces until `room` is called: the output is slower than the input. */
  readonly full: () => void;
  readonly room: () => void;
}

export type Decompress = (coding: ContentCoding, to: DecompressedBody) => Decompression;
