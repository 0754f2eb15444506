import type { Edit } from '../text/text-edits.ts';
import { utf8Bytes } from '../text/utf8.ts';

/** JSON text that goes upstream: a text as it came in or was made, and what is changed in it. */
export interface OutboundText {
  readonly before: string;
  /** In order; they do not overlap. */
  readonly edits: readonly Edit[];
}

export const unchangedText = (text: string): OutboundText => ({ before: text, edits: [] });

/** The text with its edits made. It is joined without a copy: the engine makes one when the text is looked into. */
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

/** The same in UTF-8, in pieces: `utf8` is the text before in UTF-8, of which all that stays is taken as it is. */
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
 * Where the places of a text are in its UTF-8, asked in their order. They are counted from the one before or from the
 * end, whichever is nearer: members that are changed stand at the ends of a body, and the long one between them.
 */
function bytePlaces(text: string, bytes: number): (at: number) => number {
  // Plain ASCII: a place is a place.
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
