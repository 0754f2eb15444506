import { isString, type JsonObject, objectsOf } from '../shared/json.ts';

/** What a row's metadata says of a call that went out without the thinking that was asked for. */
export const thinkingLeftOut: JsonObject = {
  reasoning: { thinking: 'left_out', reason: 'no_signed_thinking_in_tool_loop' },
};

/**
 * Whether the messages of a messages body end in a tool loop whose assistant turn holds no signed thinking: with manual
 * thinking the upstream refuses that. The turn reaches back, beyond all results, to what the user said last: the model
 * may have thought before its first call alone.
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
      if (later === 'user' && !answered) return called;
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
