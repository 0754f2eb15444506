import { isObject, type JsonObject, without } from '../shared/json.ts';

/** The member that names a tool's view in `ui`, and its name in older servers. */
const view = 'resourceUri';
const formerView = 'ui/resourceUri';

/**
 * A listed tool without its view (the extension MCP Apps), and the rest of it as it is. Hosts read a view under the
 * URI that the server knows, and views call tools by the names that it knows, neither of which exists at `/mcp`.
 */
export function withoutView(tool: JsonObject): JsonObject {
  const { _meta: meta } = tool;
  if (!isObject(meta)) return tool;
  const { ui } = meta;
  const left = without(meta, formerView);
  return { ...tool, _meta: isObject(ui) ? { ...left, ui: without(ui, view) } : left };
}
