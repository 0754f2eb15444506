import { isUtf8 } from 'node:buffer';
import { maxEventHeadersBytes, maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { type Sealed, seal } from '../../../domain/shared/stream-machine.ts';

/** One message of a binary event stream (`application/vnd.amazon.eventstream`), or why the stream cannot be read. */
export type EventFrame =
  | {
      readonly kind: 'frame';
      /** The headers whose value is a string. */
      readonly headers: ReadonlyMap<string, string>;
      readonly payload: Buffer;
    }
  /** The bytes are not valid frames. Nothing follows a fault. */
  | { readonly kind: 'fault'; readonly fault: FrameFault };

export type FrameFault =
  /** The frame's declared length is below that of an empty frame, or over the bound. */
  | 'total_length'
  /** The declared length of the headers is over that of the frame, or over the bound. */
  | 'headers_length'
  /** A header runs past the end of the headers, or has no name. */
  | 'header_boundary'
  | 'header_type'
  /** A name or string that is not UTF-8. */
  | 'header_encoding'
  /** The stream ended inside a frame. */
  | 'cut';

/** The prelude: total length, headers length and their checksum. */
const preludeBytes = 12;
const checksumBytes = 4;

/** The bytes of the frame that is being collected, in a private buffer that `step` extends in place. */
interface Pending {
  buffer: Buffer;
  size: number;
  over: boolean;
}

const nothing = Buffer.alloc(0);

/**
 * Bytes → frames. Lengths are validated, and so are the boundaries and encodings of headers, but not the checksums. The
 * lengths are checked as soon as the first 12 bytes of a frame are there, so that a frame that is too large fails at
 * once. The first fault ends the stream.
 */
export const eventFrames: Sealed<Buffer, EventFrame> = seal<Pending, Buffer, EventFrame>({
  start: () => ({ buffer: nothing, size: 0, over: false }),
  step: (pending, chunk) => {
    const frames: EventFrame[] = [];
    let at = 0;
    while (at < chunk.length && !pending.over) at += take(pending, chunk.subarray(at), frames);
    return [pending, frames];
  },
  end: ({ size }) => (size === 0 ? [] : [{ kind: 'fault', fault: 'cut' }]),
  holds: ({ buffer }) => buffer.length,
});

/** Takes bytes of one frame, and returns how many. A frame that is complete in the bytes is read in place. */
function take(pending: Pending, bytes: Buffer, frames: EventFrame[]): number {
  const whole = pending.size === 0 ? frameIn(bytes) : undefined;
  if (whole !== undefined) {
    emit(pending, whole, frames);
    return whole.length;
  }
  const wanted = pending.size < preludeBytes ? preludeBytes : totalLength(pending.buffer);
  const added = bytes.subarray(0, wanted - pending.size);
  hold(pending, added, wanted);
  const collected = frameIn(pending.buffer.subarray(0, pending.size));
  if (collected !== undefined) emit(pending, collected, frames);
  return added.length;
}

/** The frame at the start of the bytes, or all bytes if its lengths are invalid; `undefined` when more are needed. */
function frameIn(bytes: Buffer): Buffer | undefined {
  if (bytes.length < preludeBytes) return undefined;
  if (lengthFault(bytes) !== undefined) return bytes;
  const total = totalLength(bytes);
  return total > bytes.length ? undefined : bytes.subarray(0, total);
}

/** Buffers bytes. The buffer doubles up to the size of the frame, so that a byte is copied a few times at most. */
function hold(pending: Pending, bytes: Buffer, wanted: number): void {
  const size = pending.size + bytes.length;
  if (size > pending.buffer.length) {
    const larger = Buffer.allocUnsafe(Math.max(size, Math.min(wanted, 2 * pending.buffer.length)));
    pending.buffer.copy(larger, 0, 0, pending.size);
    pending.buffer = larger;
  }
  bytes.copy(pending.buffer, pending.size);
  pending.size = size;
}

/** Emits the frame, or its fault. From now on the buffered bytes belong to the frame. */
function emit(pending: Pending, bytes: Buffer, frames: EventFrame[]): void {
  const frame = frameOf(bytes);
  frames.push(frame);
  pending.buffer = nothing;
  pending.size = 0;
  pending.over = frame.kind === 'fault';
}

const totalLength = (bytes: Buffer): number => bytes.readUInt32BE(0);

/** What is wrong with a frame according to its prelude. */
function lengthFault(bytes: Buffer): FrameFault | undefined {
  const total = totalLength(bytes);
  const headers = bytes.readUInt32BE(4);
  if (total < preludeBytes + checksumBytes || total > maxStreamEventBytes) return 'total_length';
  if (headers > maxEventHeadersBytes || headers > total - preludeBytes - checksumBytes)
    return 'headers_length';
  return undefined;
}

function frameOf(bytes: Buffer): EventFrame {
  const fault = lengthFault(bytes);
  if (fault !== undefined) return { kind: 'fault', fault };
  const payloadStart = preludeBytes + bytes.readUInt32BE(4);
  const headers = stringHeaders(bytes.subarray(preludeBytes, payloadStart));
  if (!(headers instanceof Map)) return { kind: 'fault', fault: headers };
  return { kind: 'frame', headers, payload: bytes.subarray(payloadStart, -checksumBytes) };
}

/**
 * The size of header values by their type: a number of bytes, or `counted` if the value starts with its length in two
 * bytes. In order: true, false, byte, short, integer, long, bytes, string, timestamp, UUID.
 */
const valueSizes: readonly (number | 'counted')[] = [0, 0, 1, 2, 4, 8, 'counted', 'counted', 8, 16];
const stringType = 7;

function stringHeaders(bytes: Buffer): Map<string, string> | FrameFault {
  const headers = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const header = headerAt(bytes, at);
    if (!('end' in header)) return header.fault;
    if (header.text !== undefined) headers.set(header.name, header.text);
    at = header.end;
  }
  return headers;
}

type Header =
  | { readonly name: string; readonly text: string | undefined; readonly end: number }
  | { readonly fault: FrameFault };

/** Name length, name, type, value. */
function headerAt(bytes: Buffer, start: number): Header {
  const typeAt = start + 1 + (bytes[start] ?? 0);
  const type = bytes[typeAt];
  if (typeAt === start + 1 || type === undefined) return { fault: 'header_boundary' };
  if (valueSizes[type] === undefined) return { fault: 'header_type' };
  const [valueAt, end] = valueSpan(bytes, typeAt + 1, valueSizes[type]);
  if (end > bytes.length) return { fault: 'header_boundary' };
  const name = bytes.subarray(start + 1, typeAt);
  const text = type === stringType ? bytes.subarray(valueAt, end) : undefined;
  if (!isUtf8(name) || (text !== undefined && !isUtf8(text))) return { fault: 'header_encoding' };
  return { name: name.toString('utf8'), text: text?.toString('utf8'), end };
}

/** Where a value begins and ends. The end may be beyond the bytes. */
function valueSpan(
  bytes: Buffer,
  at: number,
  size: number | 'counted',
): readonly [start: number, end: number] {
  if (size !== 'counted') return [at, at + size];
  const counted = at + 2 > bytes.length ? 0 : bytes.readUInt16BE(at);
  return [at + 2, at + 2 + counted];
}
