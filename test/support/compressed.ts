import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';

/** At its best quality brotli takes seconds for what the others compress at once. */
const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Each supported compression: its name, its `content-encoding`, and the function that compresses. */
export const compressions = [
  ['gzip', 'gzip', gzipSync],
  ['deflate', 'deflate', deflateSync],
  ['deflate without its head', 'deflate', deflateRawSync],
  ['br', 'br', (bytes: Buffer) => brotliCompressSync(bytes, quickly)],
  ['zstd', 'zstd', zstdCompressSync],
] as const satisfies readonly (readonly [string, string, (bytes: Buffer) => Buffer])[];
