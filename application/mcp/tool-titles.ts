import { listedName } from '../../domain/mcp/server-message.ts';
import { isObject, isString, type JsonObject } from '../../domain/shared/json.ts';
import { maxMcpNameChars } from '../../domain/shared/limits.ts';

/** The titles of servers' tools, as last listed to this process. */
export interface ToolTitles {
  readonly listed: (serverId: string, tools: readonly JsonObject[]) => void;
  /** `undefined` when the tool has no title, or has not been listed here. */
  readonly of: (serverId: string, tool: string) => string | undefined;
}

/** The most titles that are remembered, for all servers: enough for a few hundred servers. */
const maxTitles = 10_000;

export function toolTitles(): ToolTitles {
  const titles = new Map<string, string>();
  const keyOf = (serverId: string, tool: string): string => `${serverId}/${tool}`;
  return {
    listed: (serverId, tools) => {
      for (const tool of tools) {
        const name = listedName(tool);
        const title = titleOf(tool);
        if (name === undefined || title === undefined) continue;
        // A truncated text would keep the whole one in memory.
        if (name.length > maxMcpNameChars || title.length > maxMcpNameChars) continue;
        if (titles.size >= maxTitles) titles.clear();
        titles.set(keyOf(serverId, name), title);
      }
    },
    of: (serverId, tool) => titles.get(keyOf(serverId, tool)),
  };
}

/** The title of a listed tool; older servers put it in the annotations. */
export function titleOf({ title, annotations }: JsonObject): string | undefined {
  const found = isString(title) ? title : isObject(annotations) ? annotations['title'] : undefined;
  return isString(found) ? found : undefined;
}
