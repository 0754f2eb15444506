import type { ContentCoding } from '../../domain/shared/content-coding.ts';

/** Takes a compressed body in pieces. */
export interface Decompression {
  readonly write: (piece: Buffer) => void;
  /** There are no more pieces. */
  readonly end: () => void;
  /** Nothing comes out until it is let go on. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Nothing comes out any more, and no further function is called. */
  readonly cancel: () => void;
}

/** Gets what the body was before, as it comes out. */
export interface DecompressedBody {
  readonly take: (piece: Buffer) => void;
  /** Called once, and last; not whole where the body is not in its coding, is cut off, or more stands behind it. */
  readonly over: (whole: boolean) => void;
  /** More pieces are to wait until there is room: what comes out is slower than what comes in. */
  readonly full: () => void;
  readonly room: () => void;
}

export type Decompress = (coding: ContentCoding, to: DecompressedBody) => Decompression;
