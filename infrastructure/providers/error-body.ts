import { type Json, parseJson } from '../../domain/shared/json.ts';
import { maxUpstreamErrorBytes } from '../../domain/shared/limits.ts';
import { upstreamMessage } from '../../domain/upstream/upstream-words.ts';
import { sseFrames } from './wire/sse.ts';

/**
 * The part of a body that holds the error. Some upstreams send the error as an event of the requested stream, and omit
 * the blank line after it. Azure's endpoints append a line of plain text to the JSON of some models' errors (rule
 * 35.51).
 */
export function errorIn(body: Buffer): Json | undefined {
  const text = body.toString('utf8');
  const whole = parseJson(text) ?? parseJson(text.slice(0, text.lastIndexOf('}') + 1));
  if (upstreamMessage(whole) !== undefined) return whole;
  const read = body.subarray(0, maxUpstreamErrorBytes);
  for (const frame of sseFrames.begin().push(Buffer.concat([read, blankLine]))) {
    const event = frame.kind === 'frame' ? parseJson(frame.data) : undefined;
    if (upstreamMessage(event) !== undefined) return event;
  }
  return whole;
}

const blankLine = Buffer.from('\n\n');
