import type { Attributes } from '@opentelemetry/api';
import type {
  FinishedMcpCall,
  McpCallTelemetry,
  McpTelemetry,
} from '../../application/ports/mcp-telemetry.ts';
import type { TraceContext } from '../../application/ports/telemetry.ts';
import { ownerOf } from '../../domain/identity/caller.ts';
import { BoundedValues, LabelSets, other } from './bounded-labels.ts';
import { Counter, Histogram, type MetricPoints } from './instruments.ts';
import { labelSetBounds, maxMcpServers } from './label-table.ts';
import { mcpMetrics } from './metric-table.ts';
import type { RequestTrace, Tracer } from './request-spans.ts';
import { ifKnown, type SpanContent } from './span-attributes.ts';
import { traceIdOf } from './trace-context.ts';

export interface McpSinks {
  readonly log: (call: FinishedMcpCall, traceId: string | undefined) => void;
  readonly metrics?: McpMetrics;
  readonly tracer?: Tracer;
}

export const mcpTelemetryTo = (sinks: McpSinks): McpTelemetry => ({
  begin: (traceContext) => new ObservedCall(sinks, traceContext),
});

/** The telemetry of one call; times are those of `performance.now()`. */
class ObservedCall implements McpCallTelemetry {
  readonly traceContext: TraceContext;
  private readonly sinks: McpSinks;
  private readonly trace: RequestTrace | undefined;
  private readonly startedAt = performance.now();
  private sentAt: number | undefined;
  private isOver = false;

  constructor(sinks: McpSinks, traceContext: TraceContext) {
    this.sinks = sinks;
    this.trace = sinks.tracer?.begin(traceContext);
    this.traceContext = this.trace?.traceContext ?? traceContext;
  }

  sent(): void {
    this.sentAt ??= performance.now();
  }

  ended(call: FinishedMcpCall): void {
    if (this.isOver) return;
    this.isOver = true;
    this.sinks.log(call, this.trace?.traceId ?? traceIdOf(this.traceContext));
    const now = performance.now();
    this.sinks.metrics?.ended(call, now - this.startedAt, this.sentAt && now - this.sentAt);
    const spans = this.trace?.spans;
    if (spans === undefined) return;
    const content = spanOf(call);
    if (this.sentAt !== undefined) spans.call(content, this.sentAt);
    spans.request(content, this.startedAt);
  }
}

/** The methods of the protocol, in the supported revisions; a caller may send anything else. */
const methods: ReadonlySet<string> = new Set([
  'completion/complete',
  'initialize',
  'logging/setLevel',
  'notifications/cancelled',
  'notifications/initialized',
  'notifications/progress',
  'notifications/roots/list_changed',
  'ping',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'server/discover',
  'subscriptions/listen',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tools/call',
  'tools/list',
]);

const methodOf = ({ method }: FinishedMcpCall): string =>
  method !== undefined && methods.has(method) ? method : other;

/** The attributes of the MCP conventions, for both the gateway's server span and the client span of its call. */
function spanOf(call: FinishedMcpCall): SpanContent {
  const { tool, errorCode, caller, serverId, protocolVersion } = call;
  const method = methodOf(call);
  const attributes: Attributes = {
    'mcp.method.name': method,
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'gateway.mcp.status': call.status,
    ...ifKnown('mcp.protocol.version', protocolVersion),
    ...ifKnown('gateway.mcp.server_id', serverId),
    ...(tool === undefined ? {} : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool }),
    ...ifKnown('gateway.api_key_id', caller?.apiKeyId),
    ...ifKnown('gateway.owner_kind', caller && ownerOf(caller).kind),
  };
  return { name: tool === undefined ? method : `${method} ${tool}`, attributes, errorType: errorCode };
}

const labelNames = ['mcp.method.name', 'mcp_server_id'] as const;

/** The metrics of MCP traffic, with a bounded number of label sets. */
export class McpMetrics {
  private readonly sets = new LabelSets(labelNames, [], labelSetBounds);
  private readonly servers = new BoundedValues(maxMcpServers);
  private readonly calls = new Counter<number>();
  private readonly served = new Histogram(mcpMetrics['mcp.server.operation.duration'].bounds);
  private readonly sent = new Histogram(mcpMetrics['mcp.client.operation.duration'].bounds);

  ended(call: FinishedMcpCall, tookMs: number, upstreamMs: number | undefined): void {
    const { serverId, errorCode, status } = call;
    const labels = this.sets.of([
      methodOf(call),
      serverId === undefined ? other : this.servers.named(serverId),
    ]);
    this.calls.add(labels.with('invocation_status', status), 1);
    const timed = errorCode === undefined ? labels : labels.with('error.type', errorCode);
    this.served.record(timed, tookMs / 1000);
    if (upstreamMs !== undefined) this.sent.record(timed, upstreamMs / 1000);
  }

  collect(): readonly MetricPoints[] {
    return [
      { name: 'gateway.mcp.calls', points: this.calls.points(Number) },
      { name: 'mcp.server.operation.duration', points: this.served.points() },
      { name: 'mcp.client.operation.duration', points: this.sent.points() },
    ];
  }
}
