import { isAbsent, isArray, isObject, isString, type Json, type JsonObject } from '../shared/json.ts';
import { isBareError, hasError } from '../upstream/error-shapes.ts';

/** What a payload of a responses stream is, judged by its event name, its type and the status inside. */
export type Judgement =
  /** An ordinary event, including one of unknown type. */
  | 'event'
  /** A valid completed or incomplete terminal event. */
  | 'terminal'
  /** The upstream's own `error`, `response.failed` or `response.cancelled`, in the protocol's words. */
  | 'failure'
  /** An error that is not an event of this protocol. */
  | 'error'
  /** Name, type and status contradict each other. */
  | 'conflict'
  /** A chat chunk in place of a responses event. */
  | 'chat';

/** The statuses that the protocol defines. Any other is ignored. */
const statuses: ReadonlySet<Json | undefined> = new Set([
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
]);

/** The status that an event of this type must have, if it has one of the above. */
const statusOf: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
]);

/** No successful response, whole or streamed, has one of these. */
export const failedStatuses: ReadonlySet<Json | undefined> = new Set(['failed', 'cancelled']);

/** These two do not count as event names: an empty one, and `message`, the default of an event stream. */
const noName: ReadonlySet<string | undefined> = new Set(['', 'message']);

/** `response.completed` and `response.incomplete` are successful terminals. Everything else fails or continues. */
export function judge(eventName: string | undefined, payload: JsonObject): Judgement {
  const own = noName.has(eventName) ? undefined : eventName;
  const type = isString(payload['type']) ? payload['type'] : own;
  const name = own ?? type;
  if (type === 'error') return name === 'error' ? 'failure' : 'conflict';
  if (name === 'error' || tellsError(type, payload)) return 'error';
  if (isChatChunk(payload)) return 'chat';
  return name === type ? judgeResponse(type ?? '', payload['response']) : 'conflict';
}

/**
 * In an event of the protocol an empty `error` is not an error, and `code` and the like are no sign of one. What failed
 * is told by its type: the response, or a hosted tool, after which the stream goes on (rule 19.13).
 */
const tellsError = (type: string | undefined, payload: JsonObject): boolean =>
  type?.startsWith('response.') === true
    ? hasError(payload['error']) && !type.endsWith('.failed')
    : !isAbsent(payload['error']) || isBareError(payload);

const isChatChunk = ({ object, type, choices }: JsonObject): boolean =>
  (isString(object) && object.startsWith('chat.completion')) || (!isString(type) && isArray(choices));

function judgeResponse(type: string, response: Json | undefined): Judgement {
  const status = isObject(response) ? response['status'] : undefined;
  const expected = statusOf.get(type);
  if (expected === undefined) return failedStatuses.has(status) ? 'conflict' : 'event';
  if (statuses.has(status) && status !== expected) return 'conflict';
  if (failedStatuses.has(expected)) return 'failure';
  return isObject(response) && !hasError(response['error']) ? 'terminal' : 'conflict';
}
