const encoder = new TextEncoder();

/** Scratch space for encoding texts in order to measure them. Its content is never read. */
const room = new Uint8Array(16 * 1024);

/** Whether each character of the text is one byte of UTF-8. */
export function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const { read, written } = encoder.encodeInto(from(text, at), room);
    if (read !== written) return false;
    at += read;
  }
  return true;
}

const from = (text: string, at: number): string => (at === 0 ? text : text.slice(at));

/** UTF-8 bytes of a text, counted until above `limit`. Encoding costs a tenth of examining each character. */
export function utf8Bytes(text: string, limit: number): number {
  let bytes = 0;
  for (let at = 0; at < text.length && bytes <= limit; ) {
    const { read, written } = encoder.encodeInto(from(text, at), room);
    at += read;
    bytes += written;
  }
  return bytes;
}

/** How many UTF-16 units from the start of a text fit into this many bytes of UTF-8, without splitting a character. */
export function unitsWithin(text: string, bytes: number): number {
  let at = 0;
  let left = bytes;
  while (at < text.length && left > 0) {
    const { read, written } = encoder.encodeInto(from(text, at), room.subarray(0, left));
    if (read === 0) break;
    at += read;
    left -= written;
  }
  // The engine stops before a final character of two bytes even when there is room for it.
  for (let size = bytesAt(text, at); size <= left; size = bytesAt(text, at)) {
    at += size === 4 ? 2 : 1;
    left -= size;
  }
  return at;
}

/** Bytes of the character at `at`; infinity at the end of the text. */
function bytesAt(text: string, at: number): number {
  const code = text.codePointAt(at) ?? Number.POSITIVE_INFINITY;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  if (code < 0x10000) return 3;
  return code === Number.POSITIVE_INFINITY ? code : 4;
}
