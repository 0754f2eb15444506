import { isString, type JsonObject, objectsOf } from '../shared/json.ts';

/** The metadata of a row whose call was sent without the thinking that was asked for. */
export const thinkingLeftOut: JsonObject = {
  reasoning: { thinking: 'left_out', reason: 'no_signed_thinking_in_tool_loop' },
};

/**
 * Whether a messages body ends in a tool loop whose assistant turn has no signed thinking, which the upstream refuses
 * with manual thinking. The turn reaches back over all tool results to the last input of the user, because the model
 * may have thought only before its first call.
 */
export function isLoopWithoutThinking(messages: readonly JsonObject[]): boolean {
  let later: 'user' | 'assistant' = 'user';
  let answered = false;
  let called = false;
  for (const { role, content } of messages.toReversed()) {
    const blocks = objectsOf(content);
    if (role === 'user') {
      answered = (later === 'user' && answered) || blocks.some(isResult);
      later = role;
    } else if (role === 'assistant') {
      if (!answered) return called;
      if (blocks.some(isSignedThinking)) return false;
      called = true;
      later = role;
    }
  }
  return called;
}

const isResult = ({ type }: JsonObject): boolean => type === 'tool_result';

const isSignedThinking = ({ type, signature }: JsonObject): boolean =>
  type === 'redacted_thinking' || (type === 'thinking' && isString(signature) && signature !== '');
