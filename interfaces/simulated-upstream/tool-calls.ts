import { schemaMaxDepth } from './bounds.ts';
import type { ChatRequest, FunctionTool } from './chat-request.ts';
import type { Directives } from './directives.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** A call that the simulation makes; `arguments` is JSON text. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

const valueFor = (name: string, schema: JsonObject, depth: number): unknown => {
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0] as unknown;
  const type: unknown = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (type === 'object') return objectFor(schema, depth + 1);
  const plain: Readonly<Record<string, unknown>> = {
    number: 1,
    integer: 1,
    boolean: true,
    null: null,
    array: [],
  };
  return typeof type === 'string' && Object.hasOwn(plain, type) ? plain[type] : `simulated ${name}`;
};

/** An object with the required properties of a schema filled in. */
function objectFor(schema: JsonObject, depth: number): JsonObject {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const names = depth > schemaMaxDepth ? [] : required.filter((name) => typeof name === 'string');
  return Object.fromEntries(
    names.map((name) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, valueFor(name, isJsonObject(property) ? property : {}, depth)];
    }),
  );
}

/** The tools to call: the named one, else the first two in order; one tool serves twice when two calls are asked for. */
function chosen({ tools, toolChoice }: ChatRequest, count: number): readonly FunctionTool[] {
  const offered =
    typeof toolChoice === 'object' ? tools.filter((tool) => tool.name === toolChoice.name) : tools;
  if (offered.length === 0) return [];
  return Array.from({ length: count }, (_, index) => offered[index % offered.length]).filter(
    (tool) => tool !== undefined,
  );
}

/**
 * The tool calls of an answer; none unless the last message is the user's, `tool_choice` is not `none`, and either the
 * choice demands a call or a directive asks for one. `serial` makes the ids differ from one answer to the next.
 */
export function toolCallsFor(
  request: ChatRequest,
  directives: Directives,
  serial: number,
): readonly ToolCall[] {
  const { toolChoice, lastRole } = request;
  if (lastRole !== 'user' || toolChoice === 'none') return [];
  const parallel = directives['parallel-tools'] === true;
  if (toolChoice === 'auto' && directives.tools !== true && !parallel) return [];
  return chosen(request, parallel ? 2 : 1).map((tool, index) => ({
    id: directives['tool-id'] ?? `call_sim_${serial.toString(36)}_${index}`,
    name: tool.name,
    arguments: JSON.stringify(objectFor(tool.parameters, 0)),
  }));
}
