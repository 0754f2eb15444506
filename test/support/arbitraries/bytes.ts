import * as fc from 'fast-check';

/** Splits the bytes at these positions; a position given twice makes an empty piece. */
export function cutAt(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const edges = [0, ...places.toSorted((a, b) => a - b), bytes.length];
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
}

/** The same bytes, split anywhere: inside a UTF-8 character, inside CRLF, or into empty pieces. */
export const chunkingsOf = (bytes: Buffer): fc.Arbitrary<readonly Buffer[]> =>
  fc.array(fc.nat({ max: bytes.length }), { maxLength: 16 }).map((places) => cutAt(bytes, places));

/** The same bytes, one by one. */
export const byteByByte = (bytes: Buffer): readonly Buffer[] =>
  cutAt(
    bytes,
    Array.from({ length: Math.max(0, bytes.length - 1) }, (_, index) => index + 1),
  );

export const someBytes: fc.Arbitrary<Buffer> = fc
  .uint8Array({ maxLength: 200 })
  .map((bytes) => Buffer.from(bytes));
