import { type Hit, maxHits, type Search } from '../ports/search.ts';
import type { McpServer } from '../ports/mcp-upstreams.ts';

/** Searches what is stored, and the MCP servers, which are only in the file: by id and name, in file order. */
export const searchWithServers = (stored: Search, servers: () => readonly McpServer[]): Search => ({
  find: async (text) => [...(await stored.find(text)), ...serverHits(text, servers())],
});

function serverHits(text: string, servers: readonly McpServer[]): readonly Hit[] {
  const part = text.toLowerCase();
  const holding = servers.filter(
    ({ id, displayName }) => id.includes(part) || displayName.toLowerCase().includes(part),
  );
  const [named, others] = [holding.filter(({ id }) => id === text), holding.filter(({ id }) => id !== text)];
  return [...named, ...others]
    .slice(0, maxHits)
    .map(({ id, displayName }) => ({ kind: 'mcp_server', id, title: displayName, detail: id }));
}
