import { type McpError, mcpErrors } from '../../domain/mcp/mcp-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { McpTelemetry } from '../ports/mcp-telemetry.ts';
import type { McpRequest } from './mcp-request.ts';
import type { ToolInvocation } from './record-invocation.ts';

export interface KeylessPorts {
  readonly clock: Pick<Clock, 'now'>;
  readonly telemetry: McpTelemetry;
  readonly record: (invocation: ToolInvocation, heldBytes: number) => void;
}

/** Rows that they may make together: whoever tries keys must not fill the table. All of them are counted. */
const recordsPerMinute = 60;
const minuteMs = 60_000;

/**
 * A call that no valid key came with, or whose key nobody looked at because the gateway has no room. Nothing of its body
 * was read, so nobody knows which tool it meant.
 */
export function keylessCall({ clock, telemetry, record }: KeylessPorts) {
  let minute = 0;
  let recorded = 0;
  return (
    { requestId, receivedAt, serverId }: Pick<McpRequest, 'requestId' | 'receivedAt' | 'serverId'>,
    error: McpError,
  ): void => {
    const now = clock.now();
    const { recorded: status } = mcpErrors[error.code];
    const ended = {
      requestId,
      status,
      errorCode: error.code,
      latencyMs: Math.max(0, now - receivedAt),
      caller: undefined,
    };
    telemetry.begin({}).ended({
      ...ended,
      method: undefined,
      serverId: undefined,
      tool: undefined,
      protocolVersion: undefined,
    });
    if (minute !== Math.floor(now / minuteMs)) {
      minute = Math.floor(now / minuteMs);
      recorded = 0;
    }
    recorded += 1;
    if (recorded > recordsPerMinute) return;
    record(
      {
        ...ended,
        requestLogId: undefined,
        callerSecrets: [],
        server: { id: serverId, displayName: undefined },
        tool: { id: `${serverId}/(unread)`, displayName: undefined },
        policyResult: 'not_evaluated',
        payload: { arguments: undefined, result: undefined },
      },
      0,
    );
  };
}
