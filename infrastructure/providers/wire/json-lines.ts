import { addFragment } from '../../../domain/shared/fragments.ts';
import { maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { type Sealed, seal } from '../../../domain/shared/stream-machine.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import { exceedsEventLimits } from './bounded-data.ts';

const LF = 0x0a;

/** The bytes of the line that is being collected, in a private buffer that `step` extends in place. */
interface Pending {
  readonly fragments: Uint8Array[];
  size: number;
  over: boolean;
}

/**
 * Bytes → lines, each expected to be a JSON value (`application/x-ndjson`). LF and CRLF end lines; blank lines are
 * skipped. An unterminated last line is a frame if the stream ended normally, and is dropped if the connection broke.
 * Bounded: a line over `maxStreamEventBytes`, or for which `exceedsEventLimits` is true, ends the stream with `oversize`.
 */
export const jsonLineFrames: Sealed<Buffer, TextFrame> = seal<Pending, Buffer, TextFrame>({
  start: () => ({ fragments: [], size: 0, over: false }),
  step: (pending, chunk) => {
    const frames: TextFrame[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0 && !pending.over; end = chunk.indexOf(LF, from)) {
      keep(pending, chunk.subarray(from, end + 1), frames);
      complete(pending, frames);
      from = end + 1;
    }
    keep(pending, chunk.subarray(from), frames);
    return [pending, frames];
  },
  end: (pending, ending) => {
    const frames: TextFrame[] = [];
    if (ending.kind === 'eof') complete(pending, frames);
    return frames;
  },
  holds: ({ size }) => size,
});

function keep(pending: Pending, bytes: Buffer, frames: TextFrame[]): void {
  if (pending.over || bytes.length === 0) return;
  pending.size += bytes.length;
  if (pending.size <= maxStreamEventBytes) addFragment(pending.fragments, bytes);
  else giveUp(pending, frames);
}

function giveUp(pending: Pending, frames: TextFrame[]): void {
  pending.over = true;
  empty(pending);
  frames.push({ kind: 'oversize' });
}

function complete(pending: Pending, frames: TextFrame[]): void {
  const wire = Buffer.concat(pending.fragments);
  empty(pending);
  const data = wire.toString('utf8').trim();
  if (exceedsEventLimits(data)) giveUp(pending, frames);
  else if (data !== '') frames.push({ kind: 'frame', event: undefined, data, wire });
}

function empty(pending: Pending): void {
  pending.fragments.length = 0;
  pending.size = 0;
}

/** Takes a content type in lower case. Several names are in use for this format. */
export const isJsonLines = (contentType: string): boolean =>
  /^application\/(?:x-)?(?:ndjson|jsonl(?:ines)?)\b/.test(contentType);
