/**
 * One frame of a text stream: a server-sent event, a line, or an element of an array. `wire` is the exact bytes that
 * came in, including the blank line. `event` is its name, in framings that have names.
 */
export type TextFrame =
  | {
      readonly kind: 'frame';
      readonly event: string | undefined;
      readonly data: string;
      readonly wire: Uint8Array;
    }
  /** A frame over one of the limits of an event, such as `maxStreamEventBytes`. Nothing follows it. */
  | { readonly kind: 'oversize' };
