/** One event of an upstream's event stream, with the very bytes it came in, blank line and all. */
export type SseFrame =
  | {
      readonly kind: 'frame';
      readonly event: string | undefined;
      readonly data: string;
      readonly wire: Uint8Array;
    }
  /** An event that grew over `maxStreamEventBytes`; nothing comes after it. */
  | { readonly kind: 'oversize' };
