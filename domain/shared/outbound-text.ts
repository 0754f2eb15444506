import type { Edit } from '../text/text-edits.ts';
import { utf8Bytes } from '../text/utf8.ts';

/** JSON text that goes upstream: the text as it came in or was made, and the edits to it. */
export interface OutboundText {
  readonly before: string;
  /** In order, without overlaps. */
  readonly edits: readonly Edit[];
}

export const unchangedText = (text: string): OutboundText => ({ before: text, edits: [] });

/** The text with its edits applied. Concatenation copies nothing: the engine copies when the text is first read. */
export function outboundText({ before, edits }: OutboundText): string {
  let text = '';
  let at = 0;
  for (const { from, to, by } of edits) {
    text += before.slice(at, from) + by;
    at = to;
  }
  return text + before.slice(at);
}

const encoder = new TextEncoder();

/** The same as pieces of UTF-8. `utf8` is `before` in UTF-8; the unchanged parts are views of it, not copies. */
export function outboundBytes({ before, edits }: OutboundText, utf8: Uint8Array): readonly Uint8Array[] {
  const place = bytePlaces(before, utf8.length);
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const { from, to, by } of edits) {
    pieces.push(utf8.subarray(at, place(from)), encoder.encode(by));
    at = place(to);
  }
  return [...pieces, utf8.subarray(at)];
}

/**
 * Maps positions in a text to positions in its UTF-8, asked for in ascending order. Each is counted from the previous
 * one or from the end, whichever is nearer: changed members are usually at either end of a body, with the long one
 * between them.
 */
function bytePlaces(text: string, bytes: number): (at: number) => number {
  // Plain ASCII: positions are the same.
  if (text.length === bytes) return (at) => at;
  let known = { at: 0, byte: 0 };
  return (at) => {
    const byte =
      at - known.at <= text.length - at
        ? known.byte + utf8Bytes(text.slice(known.at, at), Number.POSITIVE_INFINITY)
        : bytes - utf8Bytes(text.slice(at), Number.POSITIVE_INFINITY);
    known = { at, byte };
    return byte;
  };
}
