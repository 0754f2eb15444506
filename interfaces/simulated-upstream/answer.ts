/** What a frame of a stream is, so that directives can name places between frames. */
export type FrameMark = 'role' | 'reasoning' | 'delta' | 'finish' | 'usage' | 'done';

/** One server-sent event of an answer; `data` is the text after `data: `. */
export interface Frame {
  readonly mark: FrameMark;
  readonly data: string;
}

/** What a family answers, before directives spoil it: one JSON text, or frames of which `deltaCount` carry content. */
export type Answer =
  | { readonly kind: 'whole'; readonly json: string }
  | { readonly kind: 'stream'; readonly frames: Iterable<Frame>; readonly deltaCount: number };
