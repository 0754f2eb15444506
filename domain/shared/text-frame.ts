/**
 * One frame of a stream that is text: a server-sent event, a line, an element of an array. `wire` is the very bytes it
 * came in, blank line and all; `event` is its name, where the framing knows names.
 */
export type TextFrame =
  | {
      readonly kind: 'frame';
      readonly event: string | undefined;
      readonly data: string;
      readonly wire: Uint8Array;
    }
  /** A frame over one of the bounds of an event (`maxStreamEventBytes` and its like); nothing comes after it. */
  | { readonly kind: 'oversize' };
