import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import type { Decompress, DecompressedBody, Decompression } from '../../application/ports/decompression.ts';
import type { ContentCoding } from '../../domain/shared/content-coding.ts';
import { addFragment } from '../../domain/shared/fragments.ts';

/** Bytes of decompressed output per chunk: each chunk takes a turn of the event loop. */
const chunkSize = 64 * 1024;

/** The window size that HTTP allows zstd (RFC 9659): 8 MiB. Without this bound a frame of a few bytes takes 128 MiB. */
const maxZstdWindowLog = 23;

/** `deflate` is the zlib format. Some senders omit its header, whose first byte has 8 in its low four bits. */
const hasZlibHead = (first: number): boolean => (first & 0x0f) === 8;

const decoders = {
  gzip: () => createGunzip({ chunkSize }),
  deflate: (first: number) =>
    hasZlibHead(first) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize }),
  br: () => createBrotliDecompress({ chunkSize }),
  zstd: () =>
    createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: maxZstdWindowLog } }),
} as const satisfies Record<ContentCoding, (first: number) => unknown>;

/** Everything that can be decompressed so far is emitted without waiting for more, so that events are not delayed. */
export const decompress: Decompress = (coding, to) => new Decompressor(coding, to);

class Decompressor implements Decompression {
  private readonly coding: ContentCoding;
  private readonly to: DecompressedBody;
  private decoder: ReturnType<(typeof decoders)[ContentCoding]> | undefined;
  /** Pieces of this turn of the event loop, joined because each write, however small, is a task for another thread. */
  private readonly arrived: Uint8Array[] = [];
  private bytesIn = 0;
  private ended = false;
  private over = false;

  constructor(coding: ContentCoding, to: DecompressedBody) {
    this.coding = coding;
    this.to = to;
  }

  write(piece: Buffer): void {
    const [first] = piece;
    if (this.over || first === undefined) return;
    this.decoder ??= this.open(first);
    this.bytesIn += piece.length;
    if (this.arrived.length === 0) setImmediate(() => this.pass());
    addFragment(this.arrived, piece);
  }

  end(): void {
    this.ended = true;
    if (this.over) return;
    this.pass();
    if (this.decoder === undefined) this.finish(false);
    else this.decoder.end();
  }

  pause(): void {
    this.decoder?.pause();
  }

  resume(): void {
    if (!this.over) this.decoder?.resume();
  }

  cancel(): void {
    this.over = true;
    this.decoder?.destroy();
  }

  private pass(): void {
    const pieces = this.arrived.splice(0);
    if (this.over || pieces.length === 0) return;
    if (this.decoder?.write(Buffer.concat(pieces)) === false) this.to.full();
  }

  private open(first: number): NonNullable<typeof this.decoder> {
    const decoder = decoders[this.coding](first);
    decoder.on('data', (piece: Buffer) => {
      if (!this.over) this.to.take(piece);
    });
    decoder.on('drain', () => {
      if (!this.over) this.to.room();
    });
    decoder.on('end', () => this.finish(this.ended && decoder.bytesWritten === this.bytesIn));
    decoder.on('error', () => this.finish(false));
    return decoder;
  }

  private finish(whole: boolean): void {
    if (this.over) return;
    this.cancel();
    this.to.over(whole);
  }
}
