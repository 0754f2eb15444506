import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isArray, isObject, type Json, type JsonObject, objectsOf } from '../shared/json.ts';

/** `compat.empty_tools`; the first is the default. */
export const emptyToolsRules = ['preserve', 'omit', 'preserve_with_tool_history'] as const;

type EmptyToolsRule = (typeof emptyToolsRules)[number];

/**
 * The members to remove from a chat-completions or responses body because its `tools` array is empty.
 *
 * `omit`: remove an explicit empty `tools` array. Neutral `tool_choice` (`auto`, `none`, null) is removed with it,
 * while `required` and named choices are rejected locally. `parallel_tool_calls` is removed too, because upstreams
 * reject it without tools. `preserve_with_tool_history`: the same, unless the request contains function-tool history;
 * preserved arrays keep `tool_choice`.
 */
export function emptyTools(
  rule: EmptyToolsRule,
  body: JsonObject,
  hasFunctionToolHistory: () => boolean,
): Either<GatewayError, readonly string[]> {
  const { tools, tool_choice: choice } = body;
  if (rule === 'preserve' || !isArray(tools) || tools.length > 0) return E.right([]);
  if (rule === 'preserve_with_tool_history' && hasFunctionToolHistory()) return E.right([]);
  if (choice !== undefined && !neutralChoices.has(choice)) return E.left(choiceWithoutTools);
  return E.right(['tools', ...aboutTools.filter((field) => body[field] !== undefined)]);
}

/** Members that mean nothing without tools. */
const aboutTools = ['tool_choice', 'parallel_tool_calls'] as const;

const neutralChoices: ReadonlySet<Json> = new Set(['auto', 'none', null]);

const choiceWithoutTools = fieldError(
  'tool_choice',
  'asks for a tool, but `tools` is empty, and this model’s upstream takes no empty `tools`.',
);

/** Whether chat messages contain function-tool history: a call made by the assistant, or a tool's result. */
export const messagesHaveToolHistory = (messages: Json | undefined): boolean =>
  objectsOf(messages).some(
    ({ role, tool_calls: calls, function_call: call }) =>
      role === 'tool' ||
      role === 'function' ||
      (role === 'assistant' && ((isArray(calls) && calls.length > 0) || isObject(call))),
  );

/** Whether a responses `input` contains function-tool history: a `function_call` or a `function_call_output` item. */
export const inputHasToolHistory = (input: Json | undefined): boolean =>
  objectsOf(input).some(({ type }) => type === 'function_call' || type === 'function_call_output');
