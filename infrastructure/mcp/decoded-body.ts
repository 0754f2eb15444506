import { Readable } from 'node:stream';
import { contentCodingOf } from '../../domain/shared/content-coding.ts';
import { decompress } from '../providers/decompression.ts';

/** The body of an answer without its content coding: some servers compress although they are asked for `identity`. */
export function decodedBody(body: Readable, contentEncoding: string | string[] | undefined): Readable {
  const coding = contentCodingOf(String(contentEncoding ?? ''));
  if (coding === undefined || coding === 'identity') return body;
  let isEmpty = true;
  const decoded = new Readable({
    read: () => decompression.resume(),
    destroy: (error, done) => {
      decompression.cancel();
      body.destroy();
      done(error);
    },
  });
  const decompression = decompress(coding, {
    take: (piece) => {
      if (!decoded.push(piece)) decompression.pause();
    },
    over: (whole) => {
      if (whole || isEmpty) decoded.push(null);
      else decoded.destroy(new Error('the body is not in its content coding'));
    },
    full: () => body.pause(),
    room: () => body.resume(),
  });
  body.on('data', (piece: Buffer) => {
    isEmpty = false;
    decompression.write(piece);
  });
  body.on('end', () => decompression.end());
  body.on('error', (error) => decoded.destroy(error));
  return decoded;
}
