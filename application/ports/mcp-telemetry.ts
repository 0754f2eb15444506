import type { Caller } from '../../domain/identity/caller.ts';
import type { InvocationStatus } from '../../domain/mcp/invocation.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import type { TraceContext } from './telemetry.ts';

/** One message of an MCP caller that has ended; no arguments, no results, no secrets. */
export interface FinishedMcpCall {
  readonly requestId: RequestId;
  /** Undefined where it could not be read. */
  readonly method: string | undefined;
  /** A configured server, or undefined. */
  readonly serverId: string | undefined;
  /** A tool that the policy let be called. */
  readonly tool: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly status: InvocationStatus;
  readonly errorCode: string | undefined;
  readonly latencyMs: number;
  readonly caller: Caller | undefined;
}

export interface McpCallTelemetry {
  /** What goes to the server. */
  readonly traceContext: TraceContext;
  /** It goes to the server now. */
  readonly sent: () => void;
  /** Whatever comes after the first is ignored. */
  readonly ended: (call: FinishedMcpCall) => void;
}

/** What is told of MCP traffic: a log line for each message, and spans and metrics where an operator collects them. */
export interface McpTelemetry {
  readonly begin: (traceContext: TraceContext) => McpCallTelemetry;
}
