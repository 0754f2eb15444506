import { paragraphs } from '../../../domain/shared/message-content.ts';
import { type JsonObject, only, without } from '../../../domain/shared/json.ts';

/** What describes a tool to a model. The description may be empty. */
export interface ToolDescription {
  readonly schema: JsonObject;
  readonly description: string;
}

/** Models of the messages family reject these at the top level of a tool's schema, and take them below it. */
const combining: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'allOf']);

/** A tool whose arguments are one object. How a schema combines others is told in the description (rule 17.60). */
export function asFlatTool(tool: ToolDescription): ToolDescription {
  const combined = only(tool.schema, combining);
  if (Object.keys(combined).length === 0) return tool;
  return { schema: without(tool.schema, ...combining), description: describedBy(tool.description, combined) };
}

/** A description that tells, in addition, what the value must comply with and its schema cannot say. */
export function describedBy(description: string, limits: JsonObject): string {
  const told = Object.entries(limits).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return paragraphs([description, told.length === 0 ? '' : `{${told.join(', ')}}`]);
}
