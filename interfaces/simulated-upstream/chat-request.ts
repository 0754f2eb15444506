import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { badRequest, type ErrorAnswer } from './error-answer.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** A tool that the caller offers. */
export interface FunctionTool {
  readonly name: string;
  readonly parameters: JsonObject;
}

/** What the simulation looks at in a chat-completions request. */
export interface ChatRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly lastRole: string;
  /** Text of the last message; other parts than text are left out. */
  readonly lastText: string;
  /** Characters of all messages together. */
  readonly promptChars: number;
  readonly messageCount: number;
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: 'none' | 'auto' | 'required' | { readonly name: string };
}

const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join(' ');
};

const toolsOf = (tools: unknown): readonly FunctionTool[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) => {
    const described = isJsonObject(tool) && tool['type'] === 'function' ? tool['function'] : undefined;
    if (!isJsonObject(described) || typeof described['name'] !== 'string') return [];
    const parameters = described['parameters'];
    return [{ name: described['name'], parameters: isJsonObject(parameters) ? parameters : {} }];
  });

const toolChoiceOf = (choice: unknown): ChatRequest['toolChoice'] => {
  if (choice === 'none' || choice === 'required') return choice;
  const named = isJsonObject(choice) ? choice['function'] : undefined;
  return isJsonObject(named) && typeof named['name'] === 'string' ? { name: named['name'] } : 'auto';
};

const missing = (param: string): ErrorAnswer =>
  badRequest(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');

/** Reads the parts of a chat-completions body that the simulation needs; left is the 400 a provider would give. */
export function readChatRequest(body: JsonObject): Either<ErrorAnswer, ChatRequest> {
  const model = body['model'];
  if (typeof model !== 'string' || model === '') return E.left(missing('model'));
  const messages: unknown = body['messages'];
  if (messages === undefined) return E.left(missing('messages'));
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isJsonObject)) {
    return E.left(
      badRequest("Invalid 'messages': expected a non-empty array of objects.", 'messages', 'invalid_type'),
    );
  }
  const texts = messages.map((message) => textOf(message['content']));
  const options = body['stream_options'];
  return E.right({
    model,
    stream: body['stream'] === true,
    includeUsage: isJsonObject(options) && options['include_usage'] === true,
    lastRole: String(messages.at(-1)?.['role']),
    lastText: texts.at(-1) ?? '',
    promptChars: texts.reduce((chars, text) => chars + text.length, 0),
    messageCount: texts.length,
    tools: toolsOf(body['tools']),
    toolChoice: toolChoiceOf(body['tool_choice']),
  });
}
