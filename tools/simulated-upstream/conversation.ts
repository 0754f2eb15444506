import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { badRequest, type ErrorAnswer, missingParameter } from './error-answer.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** A tool that the caller offers. */
export interface FunctionTool {
  readonly name: string;
  readonly parameters: JsonObject;
  /** The namespace that contains it, in a responses request. */
  readonly namespace?: string;
}

/** The parts of a request for text that the simulation reads, in any family. */
export interface Conversation {
  readonly model: string;
  readonly stream: boolean;
  /** The role of the last message; `tool` for the result of a tool. */
  readonly lastRole: string;
  /**
   * Text of the last message. Of several parts it is the last text, because agents put reminders before their question.
   */
  readonly lastText: string;
  /** Total characters of all messages. */
  readonly promptChars: number;
  readonly messageCount: number;
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: 'none' | 'auto' | 'required' | { readonly name: string };
  /** The schema that the answer must follow, if the caller gives one. */
  readonly schema: JsonObject | undefined;
}

/** A message, or an item that counts as one. */
export interface ConversationItem {
  readonly role: string;
  readonly texts: readonly string[];
}

/** The texts in a message's content, which is a string or a list of parts. */
export const textsIn = (content: unknown): readonly string[] => {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.map((part: unknown) =>
    isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '',
  );
};

/** The `messages` of a body. */
export function messagesIn({ messages }: JsonObject): Either<ErrorAnswer, readonly JsonObject[]> {
  if (messages === undefined) return E.left(missingParameter('messages'));
  return Array.isArray(messages) && messages.length > 0 && messages.every(isJsonObject)
    ? E.right(messages)
    : E.left(
        badRequest("Invalid 'messages': expected a non-empty array of objects.", 'messages', 'invalid_type'),
      );
}

/** A tool, if it has a name. */
export const namedTool = (name: unknown, parameters: unknown): readonly FunctionTool[] =>
  typeof name === 'string' ? [{ name, parameters: isJsonObject(parameters) ? parameters : {} }] : [];

/** For a format that asks for an object of any kind. */
const anyObject = { required: ['answer'] };

/** The schema of a format, either under `json_schema` or directly in it. */
export const schemaIn = (format: unknown): JsonObject | undefined => {
  if (!isJsonObject(format)) return undefined;
  if (format['type'] === 'json_object') return anyObject;
  if (format['type'] !== 'json_schema') return undefined;
  const { schema } = isJsonObject(format['json_schema']) ? format['json_schema'] : format;
  return isJsonObject(schema) ? schema : undefined;
};

const speakers = ['user', 'assistant', 'tool'];

type Spoken = Pick<Conversation, 'lastRole' | 'lastText' | 'promptChars' | 'messageCount'>;

/** All texts of a tool's result count, but only the last one of a message. */
const heard = ({ role, texts }: ConversationItem): string =>
  role === 'tool' ? texts.join(' ') : (texts.findLast((text) => text !== '') ?? '');

const charsIn = (texts: readonly string[]): number => texts.reduce((chars, text) => chars + text.length, 0);

/**
 * Summarises what was said. System messages do not count as the last message, because agents send some after the
 * message that they want answered.
 */
export function spoken(said: readonly ConversationItem[], instructions: readonly string[] = []): Spoken {
  const last = said.findLast(({ role }) => speakers.includes(role)) ?? said.at(-1);
  return {
    lastRole: last?.role ?? '',
    lastText: last === undefined ? '' : heard(last),
    promptChars: said.reduce((chars, { texts }) => chars + charsIn(texts), charsIn(instructions)),
    messageCount: said.length,
  };
}
