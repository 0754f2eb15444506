const encoder = new TextEncoder();

/** Where texts are encoded to be measured; nothing stays in it. */
const room = new Uint8Array(16 * 1024);

/** Each of its characters is one byte of UTF-8. */
export function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const { read, written } = encoder.encodeInto(from(text, at), room);
    if (read !== written) return false;
    at += read;
  }
  return true;
}

const from = (text: string, at: number): string => (at === 0 ? text : text.slice(at));

/**
 * Bytes of UTF-8 of a text, counted until there are more than `limit`. Encoding a text costs a tenth of looking at its
 * characters one by one.
 */
export function utf8Bytes(text: string, limit: number): number {
  let bytes = 0;
  for (let at = 0; at < text.length && bytes <= limit; ) {
    const { read, written } = encoder.encodeInto(from(text, at), room);
    at += read;
    bytes += written;
  }
  return bytes;
}

/** How much of the beginning of a text has at most so many bytes of UTF-8, in UTF-16 units; no character is cut. */
export function unitsWithin(text: string, bytes: number): number {
  let at = 0;
  for (let left = bytes; at < text.length && left > 0; ) {
    const { read, written } = encoder.encodeInto(from(text, at), room.subarray(0, left));
    if (read === 0) break;
    at += read;
    left -= written;
  }
  return at;
}
