import { isAbsent, isObject, isString, type JsonObject, objectsOf } from '../shared/json.ts';

/**
 * The failure that an upstream tells in its answer, or in a chunk of it, as the object that holds its words: at the top,
 * in a choice, or, as text alone, in `x_groq`, where it says why a stream was stopped early.
 */
export function toldFailure(answer: JsonObject): JsonObject | undefined {
  if (!isAbsent(answer['error'])) return answer;
  for (const { error } of objectsOf(answer['choices'])) if (isObject(error)) return { error };
  const groq = answer['x_groq'];
  const reason = isObject(groq) ? groq['error'] : undefined;
  return isString(reason) && reason !== '' ? { error: reason } : undefined;
}
