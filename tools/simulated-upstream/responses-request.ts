import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  type Conversation,
  type FunctionTool,
  namedTool,
  type ConversationItem,
  schemaIn,
  spoken,
  textsIn,
} from './conversation.ts';
import { badRequest, type ErrorAnswer, missingParameter } from './error-answer.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** The parts of a responses request that the simulation reads. */
export interface ResponsesRequest extends Conversation {
  /** Members of the answer that repeat the request. */
  readonly echoed: JsonObject;
  /**
   * Whether reasoning items carry `encrypted_content`, which callers ask for if they keep the conversation themselves.
   */
  readonly encryptedReasoning: boolean;
}

/** The members of a response for what the request leaves out. */
const defaults: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
};

const modelItems: readonly unknown[] = ['function_call', 'custom_tool_call', 'reasoning'];

/** An input item as something that was said. Items of unknown types were said by nobody. */
const saidIn = (item: JsonObject): ConversationItem => {
  const type = item['type'] ?? 'message';
  if (type === 'message') return { role: String(item['role']), texts: textsIn(item['content']) };
  if (typeof type === 'string' && type.endsWith('_call_output'))
    return { role: 'tool', texts: textsIn(item['output']) };
  return { role: modelItems.includes(type) ? 'assistant' : 'unknown', texts: [] };
};

const inputOf = (input: unknown): Either<ErrorAnswer, readonly ConversationItem[]> => {
  if (input === undefined || input === null) return E.left(missingParameter('input'));
  if (typeof input === 'string') return E.right([{ role: 'user', texts: [input] }]);
  return Array.isArray(input) && input.length > 0 && input.every(isJsonObject)
    ? E.right(input.map(saidIn))
    : E.left(
        badRequest(
          "Invalid 'input': expected a string or a non-empty array of objects.",
          'input',
          'invalid_type',
        ),
      );
};

/** Function tools, including those in a namespace. Hosted and custom tools mean nothing to the simulation. */
const toolsOf = (tools: unknown): readonly FunctionTool[] =>
  (Array.isArray(tools) ? tools : []).filter(isJsonObject).flatMap((tool) => {
    const { name } = tool;
    if (tool['type'] !== 'namespace' || typeof name !== 'string') return functionIn(tool);
    const inner: readonly unknown[] = Array.isArray(tool['tools']) ? tool['tools'] : [];
    return inner
      .filter(isJsonObject)
      .flatMap(functionIn)
      .map((each) => ({ ...each, namespace: name }));
  });

const functionIn = (tool: JsonObject): readonly FunctionTool[] =>
  tool['type'] === 'function' ? namedTool(tool['name'], tool['parameters']) : [];

const toolChoiceOf = (choice: unknown): ResponsesRequest['toolChoice'] => {
  if (choice === 'none' || choice === 'required') return choice;
  return isJsonObject(choice) && choice['type'] === 'function' && typeof choice['name'] === 'string'
    ? { name: choice['name'] }
    : 'auto';
};

/** Reads the parts of a responses body that the simulation needs. Left is the 400 that a provider would answer. */
export function readResponsesRequest(body: JsonObject, model: string): Either<ErrorAnswer, ResponsesRequest> {
  const { include, instructions, text } = body;
  const said = inputOf(body['input']);
  if (E.isLeft(said)) return said;
  return E.right({
    ...spoken(said.right, textsIn(instructions)),
    model,
    stream: body['stream'] === true,
    tools: toolsOf(body['tools']),
    toolChoice: toolChoiceOf(body['tool_choice']),
    schema: schemaIn(isJsonObject(text) ? text['format'] : undefined),
    echoed: Object.fromEntries(
      Object.entries(defaults).map(([name, otherwise]) => [name, body[name] ?? otherwise]),
    ),
    encryptedReasoning: Array.isArray(include) && include.includes('reasoning.encrypted_content'),
  });
}
