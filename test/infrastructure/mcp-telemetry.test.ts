import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { propagation, SpanKind } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { FinishedMcpCall } from '../../application/ports/mcp-telemetry.ts';
import { mcpCallLog } from '../../infrastructure/logging.ts';
import { McpMetrics, mcpTelemetryTo } from '../../infrastructure/telemetry/mcp-telemetry.ts';
import { TraceContextPropagator } from '../../infrastructure/telemetry/propagator.ts';
import { Tracer } from '../../infrastructure/telemetry/request-spans.ts';
import { memoryLog } from '../support/gateway.ts';

// As the SDK does when it starts.
beforeAll(() => {
  propagation.disable();
  propagation.setGlobalPropagator(new TraceContextPropagator());
});
afterAll(() => propagation.disable());

const call: FinishedMcpCall = {
  requestId: 'r-1',
  method: 'tools/call',
  serverId: 'files',
  tool: 'read',
  protocolVersion: '2025-11-25',
  status: 'success',
  errorCode: undefined,
  latencyMs: 3,
  caller: { apiKeyId: 'k-1', keyOwner: { kind: 'team', teamId: 'platform' }, allowedModels: [] },
};
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };

function observed() {
  const spans: ReadableSpan[] = [];
  const log = memoryLog();
  const metrics = new McpMetrics();
  const tracer = new Tracer({
    ratio: 1,
    processor: { onEnd: (span) => void spans.push(span) },
    resource: resourceFromAttributes({}),
  });
  return { spans, log, metrics, telemetry: mcpTelemetryTo({ log: mcpCallLog(log), metrics, tracer }) };
}

describe('a call of a tool', () => {
  it('has a server span and a client span of the MCP conventions, in the trace of its caller', () => {
    const { spans, telemetry } = observed();
    const begun = telemetry.begin(parent);
    expect(begun.traceContext['traceparent']).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)`));
    begun.sent();
    begun.ended(call);
    begun.ended({ ...call, status: 'timeout', errorCode: 'timeout' });
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ['tools/call read', SpanKind.CLIENT],
      ['tools/call read', SpanKind.SERVER],
    ]);
    expect(spans[1]?.spanContext().traceId).toBe(traceId);
    expect(spans[1]?.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'mcp.protocol.version': '2025-11-25',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'read',
      'gateway.mcp.status': 'success',
      'gateway.mcp.server_id': 'files',
      'gateway.api_key_id': 'k-1',
      'gateway.owner_kind': 'team',
    });
  });

  it('that was refused has only a server span, with its error', () => {
    const { spans, telemetry } = observed();
    telemetry
      .begin({})
      .ended({ ...call, tool: undefined, status: 'policy_denied', errorCode: 'tool_not_allowed' });
    expect(spans).toHaveLength(1);
    expect(spans[0]?.attributes).toMatchObject({
      'error.type': 'tool_not_allowed',
      'gateway.mcp.status': 'policy_denied',
    });
  });

  it('is counted and timed under a bounded number of labels, whatever methods callers send', () => {
    const { metrics, telemetry } = observed();
    const endedAfterSent = (ended: FinishedMcpCall): void => {
      const begun = telemetry.begin({});
      begun.sent();
      begun.ended(ended);
    };
    endedAfterSent(call);
    for (let n = 0; n < 3000; n += 1)
      endedAfterSent({ ...call, method: `made-up-${n}`, serverId: undefined, status: 'invalid_request' });
    const points = Object.fromEntries(metrics.collect().map((each) => [each.name, each.points]));
    const known = { 'mcp.method.name': 'tools/call', mcp_server_id: 'files' };
    const others = { 'mcp.method.name': 'other', mcp_server_id: 'other' };
    expect(points['gateway.mcp.calls']).toEqual([
      { labels: { ...known, invocation_status: 'success' }, value: 1 },
      { labels: { ...others, invocation_status: 'invalid_request' }, value: 3000 },
    ]);
    for (const name of ['mcp.server.operation.duration', 'mcp.client.operation.duration'])
      expect(points[name]).toEqual([
        { labels: known, value: expect.objectContaining({ count: 1 }) },
        { labels: others, value: expect.objectContaining({ count: 3000 }) },
      ]);
  });

  it('is timed in seconds with its error, and has a time at the server only if it was sent there', () => {
    const { metrics } = observed();
    const labels = { 'mcp.method.name': 'tools/call', mcp_server_id: 'files' };
    metrics.ended(call, 1500, 700);
    metrics.ended({ ...call, status: 'timeout', errorCode: 'timeout' }, 3000, 2000);
    metrics.ended({ ...call, status: 'policy_denied', errorCode: 'tool_not_allowed' }, 2, undefined);
    const sums = (name: string) =>
      metrics
        .collect()
        .find((each) => each.name === name)
        ?.points.map((point) => [point.labels, point.value]);
    expect(sums('mcp.server.operation.duration')).toMatchObject([
      [labels, { sum: 1.5, count: 1 }],
      [{ ...labels, 'error.type': 'timeout' }, { sum: 3 }],
      [{ ...labels, 'error.type': 'tool_not_allowed' }, { sum: 0.002 }],
    ]);
    expect(sums('mcp.client.operation.duration')).toMatchObject([
      [labels, { sum: 0.7, count: 1 }],
      [{ ...labels, 'error.type': 'timeout' }, { sum: 2 }],
    ]);
    expect(sums('mcp.client.operation.duration')).toHaveLength(2);
  });

  it('that was refused is not timed at a server', () => {
    const { metrics, telemetry } = observed();
    telemetry.begin({}).ended({ ...call, status: 'policy_denied', errorCode: 'tool_not_allowed' });
    const of = (name: string) => metrics.collect().find((each) => each.name === name)?.points;
    expect(of('mcp.server.operation.duration')).toHaveLength(1);
    expect(of('mcp.client.operation.duration')).toEqual([]);
  });

  it('is timed from its arrival, and at the server from the first time that it was sent there', async () => {
    const { metrics, telemetry } = observed();
    const begun = telemetry.begin({});
    await sleep(60);
    begun.sent();
    await sleep(60);
    begun.sent();
    begun.ended(call);
    const [, served, sent] = metrics.collect().map(({ points }) => points[0]?.value);
    const [servedSecs = 0, sentSecs = 0] = [served, sent].map((value) => (value as { sum: number }).sum);
    expect(sentSecs).toBeGreaterThan(0.055);
    expect(servedSecs - sentSecs).toBeGreaterThan(0.055);
    expect(servedSecs).toBeLessThan(performance.now() / 1000);
  });

  it('keeps the trace of its caller, upstream and in the log, if no spans are recorded', () => {
    const log = memoryLog();
    const begun = mcpTelemetryTo({ log: mcpCallLog(log) }).begin(parent);
    expect(begun.traceContext).toEqual(parent);
    begun.ended(call);
    expect(log.lines).toMatchObject([{ fields: { trace_id: traceId } }]);
  });

  it('has a line in the log', () => {
    const { log, telemetry } = observed();
    telemetry.begin(parent).ended(call);
    expect(log.lines).toEqual([
      {
        level: 'info',
        message: 'mcp call',
        fields: {
          request_id: 'r-1',
          trace_id: traceId,
          method: 'tools/call',
          mcp_server: 'files',
          tool: 'read',
          status: 'success',
          error_code: undefined,
          latency_ms: 3,
          api_key_id: 'k-1',
          team_id: 'platform',
        },
      },
    ]);
  });
});
