import type { DatabasePool } from 'slonik';
import { inspectServer } from '../application/mcp/inspect-server.ts';
import { recordInvocation } from '../application/mcp/record-invocation.ts';
import { serveMcp } from '../application/mcp/serve-mcp.ts';
import { serveUnion } from '../application/mcp/serve-union.ts';
import { toolTitles } from '../application/mcp/tool-titles.ts';
import { keylessCall } from '../application/mcp/keyless-call.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { McpTelemetry } from '../application/ports/mcp-telemetry.ts';
import type { ServePorts } from '../application/serve-ports.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { Log } from '../infrastructure/logging.ts';
import { sealedSessions } from '../infrastructure/mcp/sealed-sessions.ts';
import { mcpUpstreams } from '../infrastructure/mcp/upstreams.ts';
import { type InvocationWriter, invocationQueue } from '../infrastructure/postgres/invocation-queue.ts';
import { invocationLinks } from '../infrastructure/postgres/mcp-links.ts';
import { tokenOverheads } from '../infrastructure/postgres/mcp-overheads.ts';
import { mcpSessionSecret } from '../infrastructure/postgres/mcp-session-secret.ts';
import { textDigest } from '../infrastructure/text-digest.ts';
import type { Gates } from '../interfaces/http/gates.ts';
import { streamKeepAlive } from '../interfaces/http/keep-alive.ts';
import type { McpServices } from '../interfaces/http/mcp/mcp-endpoint.ts';
import { writeBehind } from './fault-reports.ts';

interface McpFoundations {
  readonly config: LiveConfig;
  readonly pool: DatabasePool;
  readonly log: Log;
  readonly mcpTelemetry: McpTelemetry;
}

/** The MCP part of the gateway. */
export interface McpParts {
  readonly services: McpServices;
  readonly inspect: ReturnType<typeof inspectServer>;
  readonly counts: InvocationWriter['counts'];
  /** What model requests with tools record. */
  readonly recording: Pick<ServePorts, 'mcpOverheads' | 'invocationLinks'>;
  /** Writes what is queued and closes the connections to the servers; gives up after `withinMs`. */
  readonly close: (withinMs: number) => Promise<void>;
}

/** How often it is checked that a caller may still have its lasting stream. */
const standingSecs = 2;

export function mcpParts(foundations: McpFoundations, clock: Clock, gates: Gates): McpParts {
  const { config, pool, log, mcpTelemetry: telemetry } = foundations;
  const faults = writeBehind(config, log);
  const invocations = invocationQueue(pool, faults);
  const overheads = tokenOverheads(pool, faults.onFault);
  const links = invocationLinks(pool, faults.onFault);
  const upstreams = mcpUpstreams(() => config.loaded().config.mcpServers, {
    conceal: config.conceal,
    warn: (message) => log.warn({}, message),
  });
  const record = recordInvocation({
    invocations,
    clock,
    redaction: () => config.policy().redaction,
    captureMode: () => config.policy().payloads.captureMode,
  });
  const sessions = sealedSessions(mcpSessionSecret(pool), faults.onFault);
  const secrets = () => config.policy().redaction.secrets;
  const beats = streamKeepAlive(() => standingSecs);
  const beat = (look: () => void) => beats.watch(look).over;
  const titles = toolTitles();
  const ports = { upstreams, sessions, clock, record, secrets, digest: textDigest, titles, beat };
  return {
    services: {
      service: serveMcp(ports),
      union: serveUnion(ports),
      keyless: keylessCall({ clock, telemetry, record, secrets }),
      telemetry,
      gates: gates.mcp,
    },
    inspect: inspectServer(ports),
    counts: invocations.counts,
    recording: { mcpOverheads: overheads, invocationLinks: links },
    close: async (withinMs) => {
      await Promise.all([invocations, overheads, links].map((queue) => queue.close(withinMs)));
      await upstreams.close();
    },
  };
}
