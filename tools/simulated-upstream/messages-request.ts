import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  type Conversation,
  type FunctionTool,
  messagesIn,
  namedTool,
  type ConversationItem,
  schemaIn,
  spoken,
  textsIn,
} from './conversation.ts';
import { badRequest, type ErrorAnswer, missingParameter } from './error-answer.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** The parts of a messages request that the simulation reads. */
export interface MessagesRequest extends Conversation {
  /** Whether the caller itself asks for thinking. */
  readonly thinking: boolean;
  /** Whether thinking blocks are sent without their text. */
  readonly thinkingOmitted: boolean;
}

/** A message as something that was said. Of one with tool results, only the results count. */
const saidIn = ({ role, content }: JsonObject): ConversationItem => {
  const results = (Array.isArray(content) ? content : []).filter(
    (block: unknown): block is JsonObject => isJsonObject(block) && block['type'] === 'tool_result',
  );
  return results.length > 0
    ? { role: 'tool', texts: results.flatMap((result) => textsIn(result['content'])) }
    : { role: String(role), texts: textsIn(content) };
};

/** The caller's own tools: hosted tools have a type that contains a date, and no schema. */
const toolsOf = (tools: unknown): readonly FunctionTool[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) =>
    isJsonObject(tool) && (tool['type'] ?? 'custom') === 'custom'
      ? namedTool(tool['name'], tool['input_schema'])
      : [],
  );

const toolChoiceOf = (choice: unknown): MessagesRequest['toolChoice'] => {
  if (!isJsonObject(choice)) return 'auto';
  if (choice['type'] === 'none') return 'none';
  if (choice['type'] === 'any') return 'required';
  return choice['type'] === 'tool' && typeof choice['name'] === 'string' ? { name: choice['name'] } : 'auto';
};

const positive = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0;

/** Reads the parts of a messages body that the simulation needs. Left is the 400 that a provider would answer. */
export function readMessagesRequest(body: JsonObject, model: string): Either<ErrorAnswer, MessagesRequest> {
  const { thinking, max_tokens: maxTokens, output_config: output } = body;
  const messages = messagesIn(body);
  if (E.isLeft(messages)) return messages;
  if (maxTokens === undefined) return E.left(missingParameter('max_tokens'));
  if (!positive(maxTokens))
    return E.left(badRequest("Invalid 'max_tokens': expected a positive integer.", 'max_tokens'));
  return E.right({
    ...spoken(messages.right.map(saidIn), textsIn(body['system'])),
    model,
    stream: body['stream'] === true,
    tools: toolsOf(body['tools']),
    toolChoice: toolChoiceOf(body['tool_choice']),
    schema: schemaIn(isJsonObject(output) ? output['format'] : undefined),
    thinking: isJsonObject(thinking) && thinking['type'] === 'enabled',
    thinkingOmitted: isJsonObject(thinking) && thinking['display'] === 'omitted',
  });
}
