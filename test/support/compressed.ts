import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';

/** At its best brotli takes seconds for what the others take no time for. */
const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Each way to compress that is read: what it is called, its `content-encoding`, and how it is done. */
export const compressions = [
  ['gzip', 'gzip', gzipSync],
  ['deflate', 'deflate', deflateSync],
  ['deflate without its head', 'deflate', deflateRawSync],
  ['br', 'br', (bytes: Buffer) => brotliCompressSync(bytes, quickly)],
  ['zstd', 'zstd', zstdCompressSync],
] as const satisfies readonly (readonly [string, string, (bytes: Buffer) => Buffer])[];
