import { isObject, isString, type Json, type JsonObject, without } from '../shared/json.ts';

/**
 * A block of the assistant that only the messages API has, as text: what its servers' own tools were asked and what
 * they answered, and a summary of what came before. So a conversation that has such blocks can go on with a model of
 * another family (rule 33.46). `undefined` for any other block.
 */
export function hostedText({ type, name, input, content }: JsonObject): string | undefined {
  if (type === 'compaction') return isString(content) ? content : undefined;
  if (type === 'fallback') return '';
  if (!isString(type)) return undefined;
  if (calls.has(type) && isString(name)) return `The tool ${name} was called with: ${readable(input ?? {})}`;
  return results.test(type) ? `The tool answered (${type}): ${readable(content ?? null)}` : undefined;
}

const calls: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use']);

/** `tool_result` itself is the answer to a call of the caller's own tools. */
const results = /^[a-z_]+_tool_result$/;

/** Without what no other model can read: encrypted members, and files as base64. */
const readable = (value: Json): string =>
  JSON.stringify(value, (key, member: Json) => {
    if (key.startsWith('encrypted_')) return undefined;
    return isObject(member) && member['type'] === 'base64' ? without(member, 'data') : member;
  });
