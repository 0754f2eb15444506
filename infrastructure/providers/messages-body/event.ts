import {
  isAbsent,
  isDeeperThan,
  isObject,
  isString,
  type JsonObject,
  parseJson,
} from '../../../domain/shared/json.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import { type ReportedFailure, upstreamFailure } from '../../../domain/upstream/upstream-words.ts';

/** What one frame of a messages stream is. */
export type MessagesFrame =
  | { readonly kind: 'event'; readonly type: string; readonly value: JsonObject; readonly data: string }
  /** The upstream failed, or sent what is no event; in words fit for the caller. */
  | ({ readonly kind: 'fault' } & ReportedFailure)
  /** `[DONE]`, which is no part of this protocol: nothing comes behind it. */
  | { readonly kind: 'end' }
  /** Nothing that callers of the messages API know. */
  | { readonly kind: 'nothing' };

/** Platform A puts these between the events of the messages API. */
const platformEvent = 'vertex_event';

const nothing: MessagesFrame = { kind: 'nothing' };
const fault = (message: string): MessagesFrame => ({ kind: 'fault', message });

/** In an event stream these two are no name: the first is empty, the second is what an event without one has. */
const noName: ReadonlySet<string | undefined> = new Set(['', 'message']);

/**
 * Reads a frame; the payload's own type names the event, else the frame's name. Where both are there and differ, it is no
 * event: some clients go by the one, some by the other.
 */
export function readEvent(frame: TextFrame, sanitise: (message: string) => string): MessagesFrame {
  if (frame.kind === 'oversize') return fault('The upstream sent an event that is too large.');
  const { event: name, data } = frame;
  if (data === '' || name === platformEvent) return nothing;
  if (data.trim() === '[DONE]') return { kind: 'end' };
  const value = parseJson(data);
  return isObject(value)
    ? judged(name, value, data, sanitise)
    : fault('The upstream sent a malformed event.');
}

function judged(
  name: string | undefined,
  value: JsonObject,
  data: string,
  sanitise: (message: string) => string,
): MessagesFrame {
  if (isDeeperThan(value, maxJsonDepth))
    return fault('The upstream sent an event that is nested too deeply.');
  const type = isString(value['type']) ? value['type'] : (name ?? '');
  if (type === 'error' || name === 'error' || !isAbsent(value['error'])) {
    return { kind: 'fault', ...upstreamFailure(value, 'The upstream reported an error.', sanitise) };
  }
  if (type === platformEvent) return nothing;
  // Half a character is no name: the line that says it in an event stream has another one.
  if (!type.isWellFormed()) return fault('The upstream sent a malformed event.');
  return type === name || name === undefined || noName.has(name)
    ? { kind: 'event', type, value, data }
    : fault('The upstream sent an event that contradicts itself.');
}
