import { maxBodyBytesHere, maxValuesHere } from '../../domain/shared/limits.ts';

/** Each JSON value but the first stands behind one of these, or in what one of them opens. */
const marks = [',', '{', '['].map((mark) => mark.charCodeAt(0));

/** Whether a whole answer is read and translated in the event loop: not one of many bytes or of many values. */
export function fitsEventLoop(pieces: readonly Uint8Array[]): boolean {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxBodyBytesHere) return false;
  // Fewer bytes cannot hold as many values.
  if (bytes <= maxValuesHere) return true;
  let left = maxValuesHere;
  for (const piece of pieces)
    for (const mark of marks)
      for (let at = piece.indexOf(mark); at >= 0; at = piece.indexOf(mark, at + 1)) {
        left -= 1;
        if (left < 0) return false;
      }
  return true;
}
