import { type Arrivals, bodyPace } from './body-pace.ts';
import type { RequestContext } from './request-context.ts';

/** How long a caller that still sends has to read its answer before the connection is cut. */
const readingTime = bodyPace({ firstMs: 1000, bytesPerSec: Infinity, lookMs: 250 });

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
    if (res.closed) wait();
    else res.once('close', wait);
  };
  const discard = (chunk: Buffer): void => {
    arriving.received(chunk.length);
    left -= chunk.length;
    if (left < 0) tooMuch();
  };
  const arriving = pace(cut);
  req.once('close', arriving.over);
  req.on('data', discard);
}
