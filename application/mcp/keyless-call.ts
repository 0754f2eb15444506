import { type McpError, mcpErrors } from '../../domain/mcp/mcp-error.ts';
import { type Secrets, withoutSecrets, withSecrets } from '../../domain/payload/secrets.ts';
import { elapsedMs } from '../../domain/shared/elapsed.ts';
import type { Clock } from '../ports/clock.ts';
import type { McpTelemetry } from '../ports/mcp-telemetry.ts';
import type { McpRequest } from './mcp-request.ts';
import type { ToolInvocation } from './record-invocation.ts';

export interface KeylessPorts {
  readonly clock: Pick<Clock, 'now'>;
  readonly telemetry: McpTelemetry;
  readonly record: (invocation: ToolInvocation, heldBytes: number) => void;
  /** The credentials of the configuration, which must not be shown or logged. */
  readonly secrets: () => Secrets;
}

/** What is known of such a call: its head. */
export type KeylessRequest = Pick<McpRequest, 'requestId' | 'receivedAt' | 'serverId' | 'callerSecrets'>;

/**
 * Rows that all such calls may write together, so that guessing keys does not fill the table. Every call is counted.
 */
const recordsPerMinute = 60;
const minuteMs = 60_000;

/**
 * A call without a valid key, or whose key was not checked because the gateway has no room. Its body was not read, so
 * the tool that it meant is not known.
 */
export function keylessCall({ clock, telemetry, record, secrets }: KeylessPorts) {
  let minute = 0;
  let recorded = 0;
  return ({ requestId, receivedAt, serverId, callerSecrets }: KeylessRequest, error: McpError): void => {
    const now = clock.now();
    const { recorded: status } = mcpErrors[error.code];
    const ended = {
      requestId,
      status,
      errorCode: error.code,
      latencyMs: elapsedMs(receivedAt, now),
      caller: undefined,
    };
    telemetry.begin({}).ended({
      ...ended,
      requestId: withoutSecrets(requestId, withSecrets(secrets(), callerSecrets)),
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
        callerSecrets,
        server: { id: serverId, displayName: undefined },
        tool: { id: `${serverId}/(unread)`, displayName: undefined },
        policyResult: 'not_evaluated',
        payload: { arguments: undefined, result: undefined },
      },
      0,
    );
  };
}
