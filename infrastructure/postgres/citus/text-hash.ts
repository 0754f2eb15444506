/** The initial value of the hash, fixed by PostgreSQL: indexes and partitions on disk depend on it. */
const seed = 0x9e3779b9 + 3923095;

const turned = (value: number, by: number): number => (value << by) | (value >>> (32 - by));

/**
 * PostgreSQL's `hashtext`, by which Citus finds the shard of a text. `test/contract/text-hash.test.ts` compares it with
 * the database's own.
 */
export function textHash(text: string): number {
  const bytes = Buffer.from(text);
  let a = (seed + bytes.length) | 0;
  let b = a;
  let c = a;
  let at = 0;
  for (; bytes.length - at >= 12; at += 12) {
    a = (a + bytes.readInt32LE(at)) | 0;
    b = (b + bytes.readInt32LE(at + 4)) | 0;
    c = (c + bytes.readInt32LE(at + 8)) | 0;
    a = ((a - c) ^ turned(c, 4)) | 0;
    c = (c + b) | 0;
    b = ((b - a) ^ turned(a, 6)) | 0;
    a = (a + c) | 0;
    c = ((c - b) ^ turned(b, 8)) | 0;
    b = (b + a) | 0;
    a = ((a - c) ^ turned(c, 16)) | 0;
    c = (c + b) | 0;
    b = ((b - a) ^ turned(a, 19)) | 0;
    a = (a + c) | 0;
    c = ((c - b) ^ turned(b, 4)) | 0;
    b = (b + a) | 0;
  }
  // The remaining bytes, at most 11. The lowest byte of `c` is reserved for the length.
  const rest = Buffer.alloc(12);
  bytes.copy(rest, 0, at, Math.min(bytes.length, at + 8));
  bytes.copy(rest, 9, Math.min(bytes.length, at + 8));
  a = (a + rest.readInt32LE(0)) | 0;
  b = (b + rest.readInt32LE(4)) | 0;
  c = (c + rest.readInt32LE(8)) | 0;
  c = ((c ^ b) - turned(b, 14)) | 0;
  a = ((a ^ c) - turned(c, 11)) | 0;
  b = ((b ^ a) - turned(a, 25)) | 0;
  c = ((c ^ b) - turned(b, 16)) | 0;
  a = ((a ^ c) - turned(c, 4)) | 0;
  b = ((b ^ a) - turned(a, 14)) | 0;
  return ((c ^ b) - turned(b, 24)) | 0;
}
