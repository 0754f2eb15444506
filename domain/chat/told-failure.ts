import { isAbsent, isObject, isString, type JsonObject, numberOf, objectsOf } from '../shared/json.ts';
import { upstreamMessage } from '../upstream/upstream-words.ts';

/**
 * The failure that an upstream tells in its answer, or in a chunk of it, as the object that holds its words: at the top,
 * in a choice, or, as text alone, in `x_groq`, where it says why a stream was stopped early.
 */
export function toldFailure(answer: JsonObject): JsonObject | undefined {
  if (!isAbsent(answer['error']) || isError(answer) || failsAlone(answer)) return answer;
  for (const { error } of objectsOf(answer['choices'])) if (isObject(error)) return { error };
  const groq = answer['x_groq'];
  const reason = isObject(groq) ? groq['error'] : undefined;
  return isString(reason) && reason !== '' ? { error: reason } : undefined;
}

/** An error without an envelope. */
const isError = ({ object, type }: JsonObject): boolean => object === 'error' || type === 'error';

/** Where an answer should be there are a code, a status or details, and words for them. */
function failsAlone(answer: JsonObject): boolean {
  const { choices, code, detail, base_resp: status } = answer;
  if (objectsOf(choices).length > 0) return false;
  const refused = isObject(status) && (numberOf(status['status_code']) ?? 0) !== 0;
  const coded = isAbsent(choices) && !(isAbsent(code) && isAbsent(detail));
  return (refused || coded) && upstreamMessage(answer) !== undefined;
}
