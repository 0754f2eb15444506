/**
 * The role of a frame in a stream, by which directives name places between frames. `reasoning` and `part` have no place
 * of their own: `part` is scaffolding, such as the events that open and close an item.
 */
export type FrameMark = 'role' | 'reasoning' | 'part' | 'delta' | 'finish' | 'usage' | 'done';

/** One server-sent event: `data` is the text after `data: `, `name` the one after `event: `. */
export interface ServerSentEvent {
  readonly name?: string;
  readonly data: string;
}

/** One server-sent event of an answer. */
export interface Frame extends ServerSentEvent {
  readonly mark: FrameMark;
}

/** The answer of a family before directives alter it: one JSON text, or frames of which `deltaCount` carry content. */
export type Answer =
  | { readonly kind: 'whole'; readonly json: string }
  | { readonly kind: 'stream'; readonly frames: Iterable<Frame>; readonly deltaCount: number };
