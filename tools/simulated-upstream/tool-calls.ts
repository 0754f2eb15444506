import type { Conversation, FunctionTool } from './conversation.ts';
import type { Directives } from './directives.ts';
import { objectFor } from './schema-value.ts';

/** A tool call of the simulation. `arguments` is JSON text. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly namespace?: string;
}

/** Characters of tool arguments in one delta. */
const piece = /[\s\S]{1,12}/gu;

/** The arguments of a call, split for a stream. */
export const argumentPieces = (call: ToolCall): readonly string[] => call.arguments.match(piece) ?? [];

/** Tools that start agents: each agent would send a request to this model again, and so on without end. */
const startsAgents = ({ name }: FunctionTool): boolean => /agent|task/i.test(name);

/** The offered tools in the order in which they are called: those that start agents last, otherwise as offered. */
const inOrder = (tools: readonly FunctionTool[]): readonly FunctionTool[] => [
  ...tools.filter((tool) => !startsAgents(tool)),
  ...tools.filter(startsAgents),
];

/**
 * The tools to call: the named one, otherwise the first ones. A single tool is used twice when two calls are needed.
 */
function chosen(
  tools: readonly FunctionTool[],
  name: string | undefined,
  count: number,
): readonly FunctionTool[] {
  const offered = name === undefined ? inOrder(tools) : tools.filter((tool) => tool.name === name);
  if (offered.length === 0) return [];
  return Array.from({ length: count }, (_, index) => offered[index % offered.length]).filter(
    (tool) => tool !== undefined,
  );
}

/**
 * The tool calls of an answer. There are none unless the last message is the user's, `tool_choice` is not `none`, and
 * either the choice demands a call or a directive asks for one. `callStem` makes the ids differ between answers.
 */
export function toolCallsFor(
  { tools, toolChoice, lastRole }: Conversation,
  directives: Directives,
  callStem: string,
): readonly ToolCall[] {
  if (lastRole !== 'user' || toolChoice === 'none') return [];
  const parallel = directives['parallel-tools'] === true;
  if (toolChoice === 'auto' && directives.tools !== true && !parallel) return [];
  const name = typeof toolChoice === 'object' ? toolChoice.name : directives['tool-name'];
  return chosen(tools, name, parallel ? 2 : 1).map((tool, index) => ({
    id: directives['tool-id'] ?? `${callStem}_${index}`,
    name: tool.name,
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
    arguments: directives['tool-arguments'] ?? JSON.stringify(objectFor(tool.parameters)),
  }));
}
