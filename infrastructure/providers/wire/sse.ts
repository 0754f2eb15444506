import { markedBytes } from '../../../domain/shared/byte-order-mark.ts';
import { addFragment } from '../../../domain/shared/fragments.ts';
import {
  isAbsent,
  isArray,
  isDeeperThan,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
} from '../../../domain/shared/json.ts';
import {
  maxJsonDepth,
  maxStreamEventBytes,
  maxStreamEventLines,
  maxUpstreamErrorBytes,
} from '../../../domain/shared/limits.ts';
import { type Ending, type Sealed, seal, type StreamMachine } from '../../../domain/shared/stream-machine.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import { upstreamFailure, upstreamMessage, type Sanitise } from '../../../domain/upstream/upstream-words.ts';
import { exceedsEventLimits } from './bounded-data.ts';

const LF = 0x0a;
const CR = 0x0d;

/**
 * The event that is being collected. Its bytes are a private buffer: `step` extends it in place, and joins the
 * fragments once, when the event is complete.
 */
interface Pending {
  readonly fragments: Uint8Array[];
  size: number;
  /** The number of non-empty lines so far. */
  lines: number;
  lineEmpty: boolean;
  /** The previous byte was a CR, so an LF that follows belongs to the same line end. */
  afterCr: boolean;
  /** A blank line ended with that CR. The event is complete once the next byte is known. */
  closing: boolean;
  /** This is the first block of the stream, so it may start with a byte order mark. */
  first: boolean;
  /** How many more blocks that are not events are searched for an error. */
  besideLeft: number;
  /** The last of these blocks that is not an error. */
  beside: string | undefined;
  over: boolean;
}

/**
 * Bytes → server-sent events. An event is emitted at its blank line and never before, so that `event:` and `data:` may
 * come in either order. LF, CRLF and CR end lines; comments are skipped; an event that is incomplete at the end is
 * dropped. A byte order mark at the start is not part of the first event's bytes, because these may be forwarded after
 * other output. Bounded: an event over `maxStreamEventBytes`, or with too many lines or values, ends the stream with
 * `oversize`.
 */
const framing = (besideLeft: number): StreamMachine<Pending, Buffer, TextFrame> => ({
  start: () => ({
    ...nothingPending(),
    afterCr: false,
    first: true,
    besideLeft,
    beside: undefined,
    over: false,
  }),
  step: (pending, chunk) => {
    const frames: TextFrame[] = [];
    if (pending.over) return [pending, frames];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (!pending.lineEmpty && byte !== LF && byte !== CR) continue;
      const cut = boundary(pending, byte === LF, byte === CR);
      if (cut === undefined) continue;
      const end = cut === 'after' ? at + 1 : at;
      complete(pending, part(chunk, from, end), frames);
      if (pending.over) return [pending, frames];
      from = end;
      if (cut === 'before') beginLine(pending, byte === CR);
    }
    if (from < chunk.length) keep(pending, part(chunk, from, chunk.length), frames);
    return [pending, frames];
  },
  end: (pending) => {
    const frames: TextFrame[] = [];
    if (pending.over) return frames;
    if (pending.closing) complete(pending, Buffer.alloc(0), frames);
    else if (pending.besideLeft > 0) readBeside(pending, Buffer.concat(pending.fragments), frames);
    return frames;
  },
  holds: ({ size }) => size,
});

export const sseFrames: Sealed<Buffer, TextFrame> = seal(framing(0));

/**
 * How many blocks of a stream that are neither events nor comments are searched for an error. An upstream that reports
 * a failure in this way sends few others, and reading a block costs many times what its bytes do.
 */
const maxBlocksBeside = 1000;

/**
 * The same for an upstream whose error messages are passed on. Some upstreams report a failure outside of events, as a
 * field `error` or as plain JSON. Such an error becomes an event named `error`, because it fails the stream wherever it
 * is (rule 35.32). Other JSON there with a message explains the end of a stream that ends early (rule 35.27).
 */
export const reportingSseFrames = (sanitise: Sanitise): Sealed<Buffer, TextFrame> =>
  seal({ ...framing(maxBlocksBeside), ending: ({ beside }, ending) => toldEnding(beside, ending, sanitise) });

/** Most chunks are exactly one event, and need no slicing. */
const part = (chunk: Buffer, from: number, to: number): Buffer =>
  from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to);

const nothingPending = () => ({ fragments: [], size: 0, lines: 0, lineEmpty: true, closing: false });

/** Whether an event ends before or after this byte. `lf` and `cr` say what the byte is. */
function boundary(pending: Pending, lf: boolean, cr: boolean): 'before' | 'after' | undefined {
  const { afterCr, closing } = pending;
  pending.afterCr = cr;
  if (closing) return lf ? 'after' : 'before';
  if (lf && afterCr) return undefined;
  if (!lf && !cr) {
    pending.lines += 1;
    pending.lineEmpty = false;
    return undefined;
  }
  if (!pending.lineEmpty) {
    pending.lineEmpty = true;
    return undefined;
  }
  if (lf) return 'after';
  pending.closing = true;
  return undefined;
}

/** The byte after the CR that ended an event is the first byte of the next event. */
function beginLine(pending: Pending, cr: boolean): void {
  if (cr) pending.closing = true;
  else {
    pending.lineEmpty = false;
    pending.lines = 1;
  }
}

function keep(pending: Pending, rest: Buffer, frames: TextFrame[]): void {
  if (pending.size + rest.length > maxStreamEventBytes) return giveUp(pending, frames);
  pending.size += rest.length;
  addFragment(pending.fragments, rest);
}

function giveUp(pending: Pending, frames: TextFrame[]): void {
  Object.assign(pending, nothingPending(), { over: true });
  frames.push({ kind: 'oversize' });
}

function complete(pending: Pending, tail: Buffer, frames: TextFrame[]): void {
  if (pending.size + tail.length > maxStreamEventBytes) return giveUp(pending, frames);
  const bytes = pending.fragments.length === 0 ? tail : Buffer.concat([...pending.fragments, tail]);
  const wire = pending.first ? bytes.subarray(markedBytes([bytes])) : bytes;
  const hasLines = pending.lines > 0;
  const frame = hasLines ? boundedFrame(wire, pending.lines) : undefined;
  if (frame?.kind === 'oversize') return giveUp(pending, frames);
  Object.assign(pending, nothingPending());
  pending.first = false;
  if (frame !== undefined) frames.push(frame);
  else if (hasLines && pending.besideLeft > 0) readBeside(pending, wire, frames);
}

/** An event with too many lines or values is not processed. */
function boundedFrame(wire: Buffer, lines: number): TextFrame | undefined {
  if (lines > maxStreamEventLines) return { kind: 'oversize' };
  const frame = parseFrame(wire, lines);
  return frame?.kind === 'frame' && exceedsEventLimits(frame.data) ? { kind: 'oversize' } : frame;
}

function parseFrame(wire: Buffer, lines: number): TextFrame | undefined {
  if (lines === 1 && isData(wire)) {
    const from = wire[5] === 0x20 ? 6 : 5;
    let end = wire.length;
    while (wire[end - 1] === LF || wire[end - 1] === CR) end -= 1;
    return { kind: 'frame', event: undefined, data: wire.toString('utf8', from, end), wire };
  }
  return parseLines(wire.toString('utf8'), wire);
}

/** Whether it begins with `data:`. */
const isData = (wire: Buffer): boolean =>
  wire[0] === 0x64 && wire[1] === 0x61 && wire[2] === 0x74 && wire[3] === 0x61 && wire[4] === 0x3a;

function parseLines(text: string, wire: Buffer): TextFrame | undefined {
  const data: string[] = [];
  let event: string | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
  }
  return data.length === 0 ? undefined : { kind: 'frame', event, data: data.join('\n'), wire };
}

/** The names of event fields; that of a comment is empty. */
const fields: ReadonlySet<string | undefined> = new Set(['data', 'event', 'id', 'retry', '']);

/** The lines that belong to no event. */
function besideEvents(block: Buffer): string | undefined {
  const lines = block
    .toString()
    .split(/\r\n|\n|\r/)
    .filter((line) => !fields.has(line.split(':', 1)[0]));
  return lines.length === 0 ? undefined : lines.join('\n');
}

function readBeside(pending: Pending, block: Buffer, frames: TextFrame[]): void {
  const lines = block.length > maxUpstreamErrorBytes ? undefined : besideEvents(block);
  if (lines === undefined) return;
  const error = errorIn(lines);
  pending.besideLeft = error === undefined ? pending.besideLeft - 1 : 0;
  if (error === undefined) pending.beside = lines;
  else frames.push(errorFrame(JSON.stringify(error)));
}

/** Written as an event on the wire too, because the bytes may be forwarded. */
const errorFrame = (data: string): TextFrame => ({
  kind: 'frame',
  event: 'error',
  data,
  wire: Buffer.from(`event: error\ndata: ${data}\n\n`),
});

/** An object with an `error`. Text without one may mean anything. */
function errorIn(lines: string): JsonObject | undefined {
  const field = lines
    .split('\n')
    .find((line) => line.startsWith('error:'))
    ?.slice('error:'.length);
  const value = field === undefined ? parseJson(lines) : { error: valueOf(field) };
  const object = isArray(value) ? value[0] : value;
  const tells = isObject(object) && !isAbsent(object['error']) && !isDeeperThan(object, maxJsonDepth);
  return tells ? object : undefined;
}

function valueOf(field: string): Json {
  const value = parseJson(field);
  return value === undefined ? field.trim() : value;
}

function toldEnding(beside: string | undefined, ending: Ending, sanitise: Sanitise): Ending {
  const value = beside === undefined ? undefined : parseJson(beside);
  if (upstreamMessage(value) === undefined) return ending;
  const { message: reason, labels } = upstreamFailure(value, '', sanitise);
  return ending.kind === 'fault' ? { ...ending, reason, labels } : { kind: 'fault', reason, labels };
}

/** Takes a content type in lower case. */
export const isEventStream = (contentType: string): boolean => contentType.startsWith('text/event-stream');
