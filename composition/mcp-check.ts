import { inspectServer } from '../application/mcp/inspect-server.ts';
import { systemClock } from '../infrastructure/clock.ts';
import { noSecrets } from '../domain/payload/secrets.ts';
import type { GatewayConfig } from '../infrastructure/config/config.ts';
import { mcpUpstreams } from '../infrastructure/mcp/upstreams.ts';
import { textDigest } from '../infrastructure/text-digest.ts';
import type { CheckedServer } from '../interfaces/cli/check-config.ts';

/** Connects to each MCP server of a file and lists its tools. */
export async function checkMcpServers({
  mcpServers,
}: Pick<GatewayConfig, 'mcpServers'>): Promise<readonly CheckedServer[]> {
  const upstreams = mcpUpstreams(() => mcpServers, { conceal: () => undefined, warn: () => undefined });
  // Of a server's answers only the number of its tools is printed, so there is nothing to redact.
  const secrets = () => noSecrets;
  const inspect = inspectServer({ upstreams, clock: systemClock(), digest: textDigest, secrets });
  try {
    return await Promise.all(
      mcpServers.map(async (server) => {
        const { error, tools } = await inspect(server);
        const open = tools.filter(({ isOpen }) => isOpen).length;
        return error === undefined
          ? { id: server.id, error: undefined, says: `${tools.length} tools, ${open} of them open` }
          : { id: server.id, error: error.message, says: '' };
      }),
    );
  } finally {
    await upstreams.close();
  }
}
