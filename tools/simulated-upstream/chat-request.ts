import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  type Conversation,
  type FunctionTool,
  messagesIn,
  namedTool,
  schemaIn,
  spoken,
  textsIn,
} from './conversation.ts';
import type { ErrorAnswer } from './error-answer.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** The parts of a chat-completions request that the simulation reads. */
export interface ChatRequest extends Conversation {
  readonly includeUsage: boolean;
}

const toolsOf = (tools: unknown): readonly FunctionTool[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) => {
    const described = isJsonObject(tool) && tool['type'] === 'function' ? tool['function'] : undefined;
    return isJsonObject(described) ? namedTool(described['name'], described['parameters']) : [];
  });

const toolChoiceOf = (choice: unknown): ChatRequest['toolChoice'] => {
  if (choice === 'none' || choice === 'required') return choice;
  const named = isJsonObject(choice) ? choice['function'] : undefined;
  return isJsonObject(named) && typeof named['name'] === 'string' ? { name: named['name'] } : 'auto';
};

/**
 * Reads the parts of a chat-completions body that the simulation needs. Left is the 400 that a provider would answer.
 */
export function readChatRequest(body: JsonObject, model: string): Either<ErrorAnswer, ChatRequest> {
  const messages = messagesIn(body);
  if (E.isLeft(messages)) return messages;
  const options = body['stream_options'];
  return E.right({
    ...spoken(messages.right.map(({ role, content }) => ({ role: String(role), texts: textsIn(content) }))),
    model,
    stream: body['stream'] === true,
    includeUsage: isJsonObject(options) && options['include_usage'] === true,
    tools: toolsOf(body['tools']),
    toolChoice: toolChoiceOf(body['tool_choice']),
    schema: schemaIn(body['response_format']),
  });
}
