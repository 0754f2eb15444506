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
import {
  type ReportedFailure,
  upstreamFailure,
  type Sanitise,
} from '../../../domain/upstream/upstream-words.ts';

/** What a frame of a messages stream contains. */
export type MessagesFrame =
  | { readonly kind: 'event'; readonly type: string; readonly value: JsonObject; readonly data: string }
  /** The upstream reported a failure, or sent an invalid event. The message is safe for callers. */
  | ({ readonly kind: 'fault' } & ReportedFailure)
  /** `[DONE]`, which is not part of this protocol: nothing follows it. */
  | { readonly kind: 'end' }
  /** Nothing that belongs to the messages API. */
  | { readonly kind: 'nothing' };

/** Platform A sends these between the events of the messages API. */
const platformEvent = 'vertex_event';

const nothing: MessagesFrame = { kind: 'nothing' };
const fault = (message: string): MessagesFrame => ({ kind: 'fault', message });

/** In an event stream these mean that an event has no name: the second is the protocol's default. */
const noName: ReadonlySet<string | undefined> = new Set(['', 'message']);

/**
 * Reads a frame. The type of an event is that of its payload, else the frame's name. An event in which they differ is a
 * fault, because some clients dispatch on one and some on the other.
 */
export function readEvent(frame: TextFrame, sanitise: Sanitise): MessagesFrame {
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
  sanitise: Sanitise,
): MessagesFrame {
  if (isDeeperThan(value, maxJsonDepth))
    return fault('The upstream sent an event that is nested too deeply.');
  const type = isString(value['type']) ? value['type'] : (name ?? '');
  if (type === 'error' || name === 'error' || !isAbsent(value['error'])) {
    return { kind: 'fault', ...upstreamFailure(value, 'The upstream reported an error.', sanitise) };
  }
  if (type === platformEvent) return nothing;
  // A lone surrogate cannot be written in UTF-8, so the name in the `event:` line would be a different one.
  if (!type.isWellFormed()) return fault('The upstream sent a malformed event.');
  return type === name || name === undefined || noName.has(name)
    ? { kind: 'event', type, value, data }
    : fault('The upstream sent an event that contradicts itself.');
}
