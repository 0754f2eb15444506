import { addFragment } from '../../../domain/shared/fragments.ts';
import { maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { type Sealed, seal } from '../../../domain/shared/stream-machine.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import { isJsonBlank, JsonBrackets } from '../../../domain/text/json-brackets.ts';
import { exceedsEventLimits } from './bounded-data.ts';

const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;

/**
 * Where the next byte is: before the array, between its elements, inside one, or after the end of all that is read. The
 * bytes of an element are a private buffer, which `step` extends in place.
 */
interface Scan {
  place: 'before' | 'between' | 'inside' | 'over';
  readonly fragments: Uint8Array[];
  size: number;
  readonly brackets: JsonBrackets;
}

/**
 * Bytes → the objects of a JSON array, each as it becomes complete: the format of a stream that was not requested as
 * server-sent events. A single object without an array is read as its only element. Any unexpected byte outside of an
 * object ends the stream with a frame that is not a JSON object. An object that is incomplete at the end is dropped.
 * Bounded: an element over `maxStreamEventBytes`, or for which `exceedsEventLimits` is true, ends the stream with `oversize`.
 */
export const jsonArrayFrames: Sealed<Buffer, TextFrame> = seal<Scan, Buffer, TextFrame>({
  start: () => ({ place: 'before', fragments: [], size: 0, brackets: new JsonBrackets() }),
  step: (scan, chunk) => {
    const frames: TextFrame[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length && scan.place !== 'over'; at += 1) {
      const byte = chunk[at] ?? 0;
      if (scan.place !== 'inside') {
        from = at;
        const found = enter(scan, byte);
        if (found === 'garbage') giveUp(scan, frames, frameOf(chunk.subarray(at, at + 1)));
        if (found !== 'element') continue;
      }
      if (!scan.brackets.closes(byte)) continue;
      keep(scan, chunk.subarray(from, at + 1), frames);
      complete(scan, frames);
    }
    if (scan.place === 'inside') keep(scan, chunk.subarray(from), frames);
    return [scan, frames];
  },
  end: () => [],
  holds: ({ place, size }) => (place === 'inside' ? size : 0),
});

/** Takes a byte outside of an element: the byte begins an element, belongs between two, or is garbage. */
function enter(scan: Scan, byte: number): 'element' | 'between' | 'garbage' {
  if (isJsonBlank(byte)) return 'between';
  if (byte === openBrace) {
    scan.place = 'inside';
    return 'element';
  }
  const expected = scan.place === 'before' ? byte === openBracket : byte === comma || byte === closeBracket;
  scan.place = byte === closeBracket ? 'over' : 'between';
  return expected ? 'between' : 'garbage';
}

function keep(scan: Scan, bytes: Buffer, frames: TextFrame[]): void {
  scan.size += bytes.length;
  if (scan.size > maxStreamEventBytes) return giveUp(scan, frames, { kind: 'oversize' });
  addFragment(scan.fragments, bytes);
}

function giveUp(scan: Scan, frames: TextFrame[], last: TextFrame): void {
  scan.place = 'over';
  scan.fragments.length = 0;
  frames.push(last);
}

function complete(scan: Scan, frames: TextFrame[]): void {
  if (scan.place === 'over') return;
  const frame = frameOf(Buffer.concat(scan.fragments));
  if (exceedsEventLimits(frame.data)) return giveUp(scan, frames, { kind: 'oversize' });
  frames.push(frame);
  scan.fragments.length = 0;
  scan.size = 0;
  scan.place = 'between';
}

const frameOf = (wire: Buffer): TextFrame & { readonly kind: 'frame' } => ({
  kind: 'frame',
  event: undefined,
  data: wire.toString('utf8'),
  wire,
});
