import { maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { rawFrame } from '../../support/event-stream-frames.ts';
import { mutated } from '../mutate.ts';
import type { Random } from '../random.ts';
import { streamWords } from './words.ts';

const leastBytes = 16;

/** The frames of a binary event stream by their declared lengths, up to an invalid one. */
export function framesIn(bytes: Buffer): { readonly frames: readonly Buffer[]; readonly isCut: boolean } {
  const frames: Buffer[] = [];
  let at = 0;
  while (at + 4 <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    if (length < leastBytes || length > maxStreamEventBytes) return { frames, isCut: false };
    if (at + length > bytes.length) return { frames, isCut: true };
    frames.push(bytes.subarray(at, at + length));
    at += length;
  }
  return { frames, isCut: at < bytes.length };
}

/** Mutates, repeats, removes or reorders frames; their lengths and checksums stay right. */
export function reshapedFrames(input: Buffer, random: Random): Buffer {
  const frames = [...framesIn(input).frames];
  if (frames.length === 0) return input;
  const at = random.below(frames.length);
  const frame = frames[at] ?? Buffer.alloc(0);
  switch (random.below(5)) {
    case 0:
      frames.splice(at, 1);
      break;
    case 1:
      frames.splice(random.below(frames.length + 1), 0, frame);
      break;
    case 2:
      frames.splice(random.below(frames.length), 0, ...frames.splice(at, 1));
      break;
    default:
      frames[at] = mutatedFrame(frame, random);
  }
  return Buffer.concat(frames);
}

/** A frame with other headers or another payload. */
function mutatedFrame(frame: Buffer, random: Random): Buffer {
  const prelude = leastBytes - 4;
  const payloadAt = Math.min(frame.length - 4, prelude + frame.readUInt32BE(4));
  const headers = frame.subarray(prelude, payloadAt);
  const payload = frame.subarray(payloadAt, frame.length - 4);
  const change = (part: Buffer) => mutated(part, random, { others: [part, frame], words: streamWords });
  return random.chance(0.25) ? rawFrame(change(headers), payload) : rawFrame(headers, change(payload));
}
