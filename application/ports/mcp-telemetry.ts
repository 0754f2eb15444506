import type { Caller } from '../../domain/identity/caller.ts';
import type { InvocationStatus } from '../../domain/mcp/invocation.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import type { TraceContext } from './telemetry.ts';

/** One finished message of an MCP caller; no arguments, no results, no secrets. */
export interface FinishedMcpCall {
  readonly requestId: RequestId;
  /** `undefined` when it could not be read. */
  readonly method: string | undefined;
  /** The id of a configured server. */
  readonly serverId: string | undefined;
  /** A tool that the policy allowed to be called. */
  readonly tool: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly status: InvocationStatus;
  readonly errorCode: string | undefined;
  readonly latencyMs: number;
  readonly caller: Caller | undefined;
}

export interface McpCallTelemetry {
  /** The trace context that is sent to the server. */
  readonly traceContext: TraceContext;
  /** The message is sent to the server now. */
  readonly sent: () => void;
  /** Calls after the first are ignored. */
  readonly ended: (call: FinishedMcpCall) => void;
}

/** Telemetry of MCP traffic: a log line for each message, and spans and metrics where an operator collects them. */
export interface McpTelemetry {
  readonly begin: (traceContext: TraceContext) => McpCallTelemetry;
}
