import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { contentCodingOf } from '../../domain/shared/content-coding.ts';
import { maxTurnBytes } from '../../domain/shared/limits.ts';
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

/** The pieces of a body as they arrive, with a turn of the event loop after each `maxTurnBytes` (rule 54.65). */
export async function* inTurns(body: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  let readBytes = 0;
  for await (const piece of body) {
    const chunk = Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
    yield chunk;
    readBytes += chunk.length;
    if (readBytes <= maxTurnBytes) continue;
    readBytes = 0;
    await turn();
  }
}
