import {
  isAbsent,
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  objectsOf,
  itemsIn,
} from '../shared/json.ts';
import { requestedEffort } from './effort.ts';
import { withChangedTools } from './tool-changes.ts';

/**
 * The same conversation for a model that accepts only text in system messages: their changes of tools are made in
 * `tools`, the effort that the last of them puts in force becomes the body's own, and text that is no longer shown is
 * removed. No message moves, so that paths stay those of the caller.
 * https://platform.claude.com/docs/en/build-with-claude/effort-per-message
 */
export const withPlainSystemTurns = (body: JsonObject): JsonObject =>
  withEffortInFront(withChangedTools(body));

function withEffortInFront(body: JsonObject): JsonObject {
  const { messages } = body;
  if (!isArray(messages) || !messages.some(hasMembers)) return body;
  const lastUser = messages.findLastIndex((message) => isObject(message) && message['role'] === 'user');
  const plain = messages.map((message, index) =>
    isObject(message) && hasMembers(message) ? withTextAlone(message, index < lastUser) : message,
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

/**
 * The same conversation for a model that takes a system prompt at the front only. Text before the first turn joins the
 * prompt. Later text stays in its place, as a reminder in a turn of the user, as agents write them for such models:
 * upstreams find a conversation in their caches up to its first change, so that text added to the prompt would make
 * them read all of it anew.
 */
export function withSystemReminders(body: JsonObject): JsonObject {
  const { system, messages } = body;
  if (!isArray(messages) || !messages.some(isSystem)) return body;
  const first = messages.findIndex((message) => !isSystem(message));
  const leading = first === -1 ? messages : messages.slice(0, first);
  const prompt = [system, ...objectsOf(leading).map(({ content }) => content)];
  return {
    ...body,
    ...(leading.length > 0 && { system: prompt.flatMap(textBlocks) }),
    messages: remindersInPlace(messages.slice(leading.length)),
  };
}

/** Between a call and its results nothing may stand, so that a reminder there follows the results. */
function remindersInPlace(messages: readonly Json[]): readonly Json[] {
  const placed: Json[] = [];
  const waiting: Json[] = [];
  let isHeld = false;
  for (const message of messages) {
    if (isSystem(message)) for (const block of textBlocks(message['content'])) waiting.push(reminder(block));
    else {
      placed.push(message);
      isHeld = isCall(message);
    }
    if (!isHeld && waiting.length > 0) placed.push({ role: 'user', content: waiting.splice(0) });
  }
  return waiting.length === 0 ? placed : [...placed, { role: 'user', content: waiting }];
}

const isCall = (message: Json): boolean =>
  isObject(message) && objectsOf(message['content']).some(({ type }) => type === 'tool_use');

const tag = 'system-reminder';

const reminder = (block: Json): Json => (isObject(block) ? asReminder(block) : block);

/** A block with text of the system as one that stands in a turn of the user. */
export const asReminder = (block: JsonObject): JsonObject =>
  !isString(block['text']) || block['text'].includes(`<${tag}>`)
    ? block
    : { ...block, text: `<${tag}>\n${block['text']}\n</${tag}>` };

const textBlocks = (content: Json | undefined): readonly Json[] => {
  if (isString(content)) return content === '' ? [] : [{ type: 'text', text: content }];
  return itemsIn(content);
};

export const isSystem = (message: Json): message is JsonObject =>
  isObject(message) && message['role'] === 'system';

/** The path of the effort that the caller wrote for the answer, if there is one. */
export function effortPath({ messages, output_config: config }: JsonObject): string | undefined {
  const inForce = isArray(messages) ? effortInForce(messages) : undefined;
  if (inForce !== undefined) return `messages[${inForce.index}].output_config.effort`;
  return isObject(config) && !isAbsent(config['effort']) ? 'output_config.effort' : undefined;
}

/** Whether a system message has more than text, or no text. */
const hasMembers = (message: Json): boolean =>
  isSystem(message) &&
  (isAbsent(message['content']) || !isAbsent(message['output_config']) || !isAbsent(message['clear_at']));

const withTextAlone = ({ content, clear_at: clearAt }: JsonObject, isBehind: boolean): JsonObject => ({
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
