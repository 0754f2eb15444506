import type { ServerResponse } from 'node:http';
import { type Arrivals, bodyPace } from './body-pace.ts';
import type { RequestContext } from './request-context.ts';

/** How long a caller that still sends has to read its answer before the connection is cut. */
const readingTime = bodyPace({ firstMs: 1000, bytesPerSec: Infinity, lookMs: 250 });

/** Once a caller has its last answer, the connection waits no longer than this for more of the body. */
const lastPace = bodyPace({ firstMs: 1000, bytesPerSec: 16 * 1024, lookMs: 250 });

/** Answers that are written in full, and end when no more of their requests is read. */
const awaitingBody = new WeakSet<ServerResponse>();

export const awaitsBody = (res: ServerResponse): boolean => awaitingBody.has(res);

/**
 * Writes an answer whose length its head gives, and after which the connection closes. Node closes it with the end of
 * the answer, and bytes of the body that nobody has read then reset it: proxies that still send the body drop the
 * answer, and make a 502 of it. So the answer ends after the body (rule 33.52).
 */
export function endAfterBody(res: ServerResponse, body: string | Uint8Array, encoding: BufferEncoding): void {
  const { req } = res;
  awaitingBody.add(res);
  res.write(body, encoding);
  const end = (): void => void res.end();
  req.once('end', end).once('close', end).resume();
}

/**
 * Discards what is left of a body once its request has been answered, at the pace of any body, so that the connection
 * can be reused. Once more than `maxBytes` of it has arrived, reading stops and the connection ends.
 */
export function discardRest({ req, res }: RequestContext, pace: Arrivals, maxBytes: number): void {
  if (req.destroyed) return;
  let left = maxBytes;
  const cut = (): void => void req.socket.destroy();
  const tooMuch = (): void => {
    arriving.over();
    req.off('data', discard);
    req.pause();
    const wait = (): void => {
      const { over } = readingTime(cut);
      req.socket.once('close', over);
    };
    if (res.closed || awaitsBody(res)) wait();
    else res.once('close', wait);
  };
  const discard = (chunk: Buffer): void => {
    arriving.received(chunk.length);
    left -= chunk.length;
    if (left < 0) tooMuch();
  };
  const arriving = (awaitsBody(res) ? lastPace : pace)(cut);
  req.once('close', arriving.over);
  req.on('data', discard);
}
