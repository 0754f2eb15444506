import type { DatabasePool } from 'slonik';
import { recordInvocation } from '../application/mcp/record-invocation.ts';
import { type McpService, serveMcp } from '../application/mcp/serve-mcp.ts';
import { unauthorizedCall } from '../application/mcp/unauthorized-call.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { McpTelemetry } from '../application/ports/mcp-telemetry.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import { databaseFaultLog, defectFields, type Log } from '../infrastructure/logging.ts';
import { sealedSessions } from '../infrastructure/mcp/sealed-sessions.ts';
import { type McpServerPool, mcpUpstreams } from '../infrastructure/mcp/upstreams.ts';
import { databaseFault } from '../infrastructure/postgres/database-fault.ts';
import { type InvocationWriter, invocationQueue } from '../infrastructure/postgres/invocation-queue.ts';
import { mcpSessionSecret } from '../infrastructure/postgres/mcp-session-secret.ts';
import { cleaned } from './settling.ts';

interface McpFoundations {
  readonly config: LiveConfig;
  readonly pool: DatabasePool;
  readonly log: Log;
  readonly mcpTelemetry: McpTelemetry;
}

/** The gateway's side of MCP. */
export interface McpParts {
  readonly service: McpService;
  readonly unauthorized: ReturnType<typeof unauthorizedCall>;
  readonly invocations: InvocationWriter;
  readonly upstreams: McpServerPool;
}

export function mcpParts(foundations: McpFoundations, clock: Clock): McpParts {
  const { config, pool, log, mcpTelemetry } = foundations;
  const onFault = (error: unknown): void => databaseFaultLog(log)(databaseFault(error), error);
  const invocations = invocationQueue(pool, {
    onFault,
    onDefect: (error) => log.error(defectFields(error, cleaned(config)), 'defect'),
  });
  const upstreams = mcpUpstreams(() => config.loaded().config.mcpServers, {
    conceal: config.conceal,
    warn: (message) => log.warn({}, message),
  });
  const record = recordInvocation({ invocations, clock, redaction: () => config.policy().redaction });
  const service = serveMcp({
    upstreams,
    sessions: sealedSessions(mcpSessionSecret(pool), onFault),
    clock,
    record,
    secrets: () => config.policy().redaction.secrets,
  });
  return {
    service,
    unauthorized: unauthorizedCall({ clock, telemetry: mcpTelemetry, record }),
    invocations,
    upstreams,
  };
}
