import type { IncomingMessage } from 'node:http';
import { bodyMaxBytes } from './bounds.ts';

/** A request body in chunks as received. Most bodies are only compared, so the chunks are joined only on demand. */
export interface Body {
  readonly length: number;
  readonly pieces: readonly Buffer[];
}

/** A request body, or why it could not be read. */
export type ReadBody =
  | { readonly kind: 'read'; readonly body: Body }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'gone' };

/** Reads a body up to the limit, and discards the rest as it arrives. `gone` after a client disconnect. */
export const readBody = (request: IncomingMessage): Promise<ReadBody> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let length = 0;
    request.on('data', (piece: Buffer) => {
      length += piece.length;
      if (length <= bodyMaxBytes) pieces.push(piece);
      else {
        pieces.length = 0;
        resolve({ kind: 'too_large' });
      }
    });
    request.on('end', () => resolve({ kind: 'read', body: { length, pieces } }));
    request.on('close', () => resolve({ kind: 'gone' }));
  });

/** All bytes of a body in one buffer. */
export const bytesOf = ({ pieces }: Body): Buffer => {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
};

/** Whether a body consists of exactly these bytes. */
export function sameBytes(bytes: Buffer, { length, pieces }: Body): boolean {
  if (bytes.length !== length) return false;
  let from = 0;
  for (const piece of pieces) {
    if (bytes.compare(piece, 0, piece.length, from, from + piece.length) !== 0) return false;
    from += piece.length;
  }
  return true;
}
