import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { type RunningServer, sdkServer } from '../support/mcp-servers.ts';
import { marker } from './marker.ts';

/** The server's id in the configuration, and the name of its only tool. */
export const serverId = 'files';
export const toolName = 'read_note';

/** Where an agent finds the tool. */
export interface McpPlace {
  /** The server's name in the agent's settings. */
  readonly name: string;
  /** Below the gateway's address. */
  readonly path: string;
  /** The name of the tool there. */
  readonly tool: string;
}

/** The path of the one server, and the path of the union of all servers. */
export const alone: McpPlace = { name: serverId, path: `/mcp/${serverId}`, tool: toolName };
export const union: McpPlace = { name: 'gateway', path: '/mcp', tool: `${serverId}__${toolName}` };

/** An MCP server with a tool that reads the note. */
export const noteServer = (): Promise<RunningServer> =>
  sdkServer(() => {
    const server = new McpServer({ name: 'notes', version: '1' });
    server.registerTool(toolName, { description: 'Reads the note.', inputSchema: {} }, () => ({
      content: [{ type: 'text', text: marker }],
    }));
    return server;
  });
