import { isAbsent, isArray, isObject, type Json, type JsonObject, membersOf } from '../shared/json.ts';
import { requestedEffort } from './effort.ts';

/**
 * The same conversation for a model that accepts only text in system messages: the effort that the last of them puts in
 * force becomes the body's own, and text that is no longer shown is removed. No message moves, so that paths stay those
 * of the caller.
 * https://platform.claude.com/docs/en/build-with-claude/effort-per-message
 */
export function withPlainSystemTurns(body: JsonObject): JsonObject {
  const { messages } = body;
  if (!isArray(messages) || !messages.some(hasMembers)) return body;
  const lastUser = messages.findLastIndex((message) => isObject(message) && message['role'] === 'user');
  const plain = messages.map((message, index) =>
    isObject(message) && hasMembers(message) ? wordsOf(message, index < lastUser) : message,
  );
  const effort = effortInForce(messages);
  if (effort === undefined) return { ...body, messages: plain };
  const { output_config: config } = body;
  return {
    ...body,
    messages: plain,
    output_config: { ...membersOf(config), effort: effort.value },
  };
}

/** The path of the effort that the caller wrote for the answer, if there is one. */
export function effortPath({ messages, output_config: config }: JsonObject): string | undefined {
  const inForce = isArray(messages) ? effortInForce(messages) : undefined;
  if (inForce !== undefined) return `messages[${inForce.index}].output_config.effort`;
  return isObject(config) && !isAbsent(config['effort']) ? 'output_config.effort' : undefined;
}

/** Whether a system message has more than text, or no text. */
const hasMembers = (message: Json): boolean =>
  isObject(message) &&
  message['role'] === 'system' &&
  (isAbsent(message['content']) || !isAbsent(message['output_config']) || !isAbsent(message['clear_at']));

const wordsOf = ({ content, clear_at: clearAt }: JsonObject, isBehind: boolean): JsonObject => ({
  role: 'system',
  content: isAbsent(content) || (clearAt === 'next_user_message' && isBehind) ? '' : content,
});

/** The effort that a system message sets, and the index of that message. */
interface Effort {
  readonly index: number;
  readonly value: string;
}

/** An effort directly after new user input applies to the answer to it. Elsewhere it applies from the next input on. */
function effortInForce(messages: readonly Json[]): Effort | undefined {
  let inForce: Effort | undefined;
  let next: Effort | undefined;
  let isBehindInput = false;
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue;
    if (message['role'] === 'system') {
      const value = requestedEffort(message);
      if (value !== undefined) next = { index, value };
      if (isBehindInput) inForce = next;
    } else {
      isBehindInput = message['role'] === 'user' && bringsInput(message['content']);
      if (isBehindInput) inForce = next;
    }
  }
  return inForce;
}

/** Tool results alone are not new input. */
const bringsInput = (content: Json | undefined): boolean =>
  !isArray(content) || content.some((block) => !isObject(block) || block['type'] !== 'tool_result');
