import { maxEventLoopBodyBytes, maxEventLoopValues } from '../../domain/shared/limits.ts';

/** Every JSON value but the first has one of these in front of it, so their number bounds the number of values. */
const marks = [',', '{', '['].map((mark) => mark.charCodeAt(0));

/** Whether a whole answer is small enough, in bytes and in values, to be read and translated in the event loop. */
export function fitsEventLoop(pieces: readonly Uint8Array[]): boolean {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxEventLoopBodyBytes) return false;
  // So few bytes cannot hold more values than the limit.
  if (bytes <= maxEventLoopValues) return true;
  let left = maxEventLoopValues;
  for (const piece of pieces)
    for (const mark of marks)
      for (let at = piece.indexOf(mark); at >= 0; at = piece.indexOf(mark, at + 1)) {
        left -= 1;
        if (left < 0) return false;
      }
  return true;
}
