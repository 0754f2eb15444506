import { isAbsent, isArray, isObject, isString, type Json, type JsonObject } from '../shared/json.ts';
import { isBareError, saysError } from '../upstream/error-shapes.ts';

/** What one payload of a responses stream is, judged by its name, its type and the status inside. */
export type Judgement =
  /** An event on the way; also one of a type that nobody here knows. */
  | 'event'
  /** A valid completed or incomplete terminal event. */
  | 'terminal'
  /** The upstream's own `error`, `response.failed` or `response.cancelled`, in the protocol's words. */
  | 'failure'
  /** An error that is no event of this protocol. */
  | 'error'
  /** Name, type and status do not go together. */
  | 'conflict'
  /** A chat chunk where a responses event should be. */
  | 'chat';

/** The statuses that the protocol knows; any other is ignored. */
const statuses: ReadonlySet<Json | undefined> = new Set([
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
]);

/** The status that an event of this type must hold, if it holds a known one. */
const statusOf: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
]);

/** What no successful response has, whole or streamed. */
export const failedStatuses: ReadonlySet<Json | undefined> = new Set(['failed', 'cancelled']);

/** In an event stream these two are no name: the first is empty, the second is what an event without one has. */
const noName: ReadonlySet<string | undefined> = new Set(['', 'message']);

/** `response.completed` and `response.incomplete` are successful terminals; everything else fails or goes on. */
export function judge(eventName: string | undefined, payload: JsonObject): Judgement {
  const own = noName.has(eventName) ? undefined : eventName;
  const type = isString(payload['type']) ? payload['type'] : own;
  const name = own ?? type;
  if (type === 'error') return name === 'error' ? 'failure' : 'conflict';
  if (name === 'error' || tellsError(type, payload)) return 'error';
  if (isChatChunk(payload)) return 'chat';
  return name === type ? judgeResponse(type ?? '', payload['response']) : 'conflict';
}

/** In an event of the protocol an empty `error` is none, and `code` and its like are no signs of one. */
const tellsError = (type: string | undefined, payload: JsonObject): boolean =>
  type?.startsWith('response.') === true
    ? saysError(payload['error'])
    : !isAbsent(payload['error']) || isBareError(payload);

const isChatChunk = ({ object, type, choices }: JsonObject): boolean =>
  (isString(object) && object.startsWith('chat.completion')) || (!isString(type) && isArray(choices));

function judgeResponse(type: string, response: Json | undefined): Judgement {
  const status = isObject(response) ? response['status'] : undefined;
  const expected = statusOf.get(type);
  if (expected === undefined) return failedStatuses.has(status) ? 'conflict' : 'event';
  if (statuses.has(status) && status !== expected) return 'conflict';
  if (failedStatuses.has(expected)) return 'failure';
  return isObject(response) && !saysError(response['error']) ? 'terminal' : 'conflict';
}
