import { isAbsent, isObject, isString, type JsonObject, numberOf, objectsOf } from '../shared/json.ts';
import { isBareError, isNamedError, hasError } from '../upstream/error-shapes.ts';
import { upstreamMessage } from '../upstream/upstream-words.ts';

/**
 * The failure that an upstream reports in an answer or a chunk, as the object that contains its message. It may be at
 * the top, in a choice, or, as plain text, in `x_groq`, which says why a stream was stopped early.
 */
export function reportedFailure(answer: JsonObject): JsonObject | undefined {
  const { choices, error, usage } = answer;
  const listed = objectsOf(choices);
  const failed = listed.length > 0 || !isAbsent(usage) ? hasError(error) : !isAbsent(error);
  if (failed || isNamedError(answer) || failsAlone(answer)) return answer;
  for (const choice of listed) if (isFailed(choice)) return { error: choice['error'] ?? null };
  const groq = answer['x_groq'];
  const reason = isObject(groq) ? groq['error'] : undefined;
  return isString(reason) && reason !== '' ? { error: reason } : undefined;
}

/** A failed choice has an error object, or an error in any form together with the finish reason `error`. */
const isFailed = ({ error, finish_reason }: JsonObject): boolean =>
  finish_reason === 'error' ? !isAbsent(error) : isObject(error) && hasError(error);

/** The answer consists of an error without an envelope, or of a status other than success with a message. */
function failsAlone(answer: JsonObject): boolean {
  const { choices, base_resp: status } = answer;
  if (objectsOf(choices).length > 0) return false;
  const refused = isObject(status) && (numberOf(status['status_code']) ?? 0) !== 0;
  return refused ? upstreamMessage(answer) !== undefined : isAbsent(choices) && isBareError(answer);
}
