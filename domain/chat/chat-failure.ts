import { isAbsent, isObject, isString, type JsonObject, numberOf, objectsOf } from '../shared/json.ts';
import { isBareError, isNamedError, saysError } from '../upstream/error-shapes.ts';
import { upstreamMessage } from '../upstream/upstream-words.ts';

/**
 * The failure that an upstream tells in its answer, or in a chunk of it, as the object that holds its words: at the top,
 * in a choice, or, as text alone, in `x_groq`, where it says why a stream was stopped early.
 */
export function reportedFailure(answer: JsonObject): JsonObject | undefined {
  const { choices, error, usage } = answer;
  const told = objectsOf(choices);
  const failed = told.length > 0 || !isAbsent(usage) ? saysError(error) : !isAbsent(error);
  if (failed || isNamedError(answer) || failsAlone(answer)) return answer;
  for (const choice of told) if (isFailed(choice)) return { error: choice['error'] ?? null };
  const groq = answer['x_groq'];
  const reason = isObject(groq) ? groq['error'] : undefined;
  return isString(reason) && reason !== '' ? { error: reason } : undefined;
}

/** A choice that has failed says why in an object, or in any form beside a finish reason that says that it has. */
const isFailed = ({ error, finish_reason }: JsonObject): boolean =>
  finish_reason === 'error' ? !isAbsent(error) : isObject(error) && saysError(error);

/** In the place of an answer stands an error without an envelope, or a status that is none of success, with its words. */
function failsAlone(answer: JsonObject): boolean {
  const { choices, base_resp: status } = answer;
  if (objectsOf(choices).length > 0) return false;
  const refused = isObject(status) && (numberOf(status['status_code']) ?? 0) !== 0;
  return refused ? upstreamMessage(answer) !== undefined : isAbsent(choices) && isBareError(answer);
}
