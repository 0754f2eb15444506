import type { McpExchange } from '../../application/ports/mcp-upstreams.ts';

/** A message for an MCP server, whose answer always has room. */
export const anMcpExchange = (over: Partial<McpExchange> = {}): McpExchange => ({
  method: 'POST',
  text: '{}',
  session: undefined,
  headers: {},
  signal: new AbortController().signal,
  memory: { hold: () => true, holdUnfinished: () => true },
  ...over,
});
