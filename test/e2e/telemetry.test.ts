import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { metricTable, processMetrics } from '../../infrastructure/telemetry/metric-table.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type OtlpReceiver, type ReceivedMetric, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { type ReplayUpstream, startReplayUpstream } from '../support/replay-upstream.ts';
import {
  type Family,
  families,
  pathOf,
  keys,
  config,
  answer,
  type Asked,
  ask,
  askMcp,
  leave,
} from './telemetry-scene.ts';

const database = withDatabase();
const query = queries(database.url);

/** What is documented to be recorded for a request. */
interface Documented {
  readonly family: Family;
  readonly stream?: boolean;
  readonly model?: string | undefined;
  readonly routed?: boolean;
  readonly owner?: 'user' | 'team' | 'none';
  readonly outcome?: string;
  readonly code?: string;
  readonly usage?: boolean;
  readonly pricing?: 'priced' | 'unpriced' | 'usage_missing' | undefined;
  readonly usd?: number;
  readonly unbilled?: string;
  /** Undefined if the request could not be read. */
  readonly tools?: number | undefined;
  /** The error of the upstream call: undefined if there was no call, an empty string if it succeeded. */
  readonly call?: string | undefined;
  readonly firstToken?: boolean;
  readonly disconnected?: string;
  readonly duplicate?: boolean;
  readonly unusable?: boolean;
  /** The measure that a rate limit of its key has exhausted. */
  readonly full?: 'in_flight';
  readonly tags?: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, unknown>>;
const pointOf = (metric: string, labels: Labels): string =>
  `${metric} ${JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))}`;

/** Points by name and labels: the value of a sum, the count of a histogram. */
class Expected {
  readonly points = new Map<string, number>();

  add(metric: string, labels: Labels, by = 1): void {
    const at = pointOf(metric, labels);
    this.points.set(at, (this.points.get(at) ?? 0) + by);
  }

  request(it: Documented): void {
    const model = 'model' in it ? (it.model ?? 'other') : 'good';
    const labels = {
      operation: it.family,
      stream: String(it.stream ?? false),
      model_key: model,
      provider_key: (it.routed ?? true) ? 'up' : 'other',
      owner_kind: it.owner ?? 'user',
      ...it.tags,
    };
    this.ended(it, labels);
    this.accounted(it, labels);
    this.tools(it, labels);
    this.genAi(it, model);
  }

  /** A call to a server that is unavailable. */
  mcpCall(labels: Labels): void {
    this.add('gateway.mcp.calls', { ...labels, invocation_status: 'upstream_error' });
    for (const side of ['server', 'client'])
      this.add(`mcp.${side}.operation.duration`, { ...labels, 'error.type': 'upstream_unreachable' });
  }

  private ended({ outcome = 'success', code, disconnected }: Documented, labels: Labels): void {
    this.add('gateway.requests', { ...labels, agent_harness_key: 'other' });
    const error = code === undefined ? {} : { error_code: code };
    this.add('gateway.request.outcomes', { ...labels, outcome, ...error });
    this.add('gateway.request.duration', { ...labels, outcome });
    if (disconnected !== undefined)
      this.add('gateway.client_disconnects', { ...labels, upstream: disconnected });
  }

  private accounted({ family, usd, ...it }: Documented, labels: Labels): void {
    if (it.usage === true) this.add('gateway.tokens', { ...labels, token_type: 'input' }, 10);
    if (it.usage === true && family !== 'embeddings')
      this.add('gateway.tokens', { ...labels, token_type: 'output' }, 20);
    if (it.pricing !== undefined)
      this.add('gateway.usage.records', { ...labels, pricing_status: it.pricing });
    if (it.pricing === 'priced') this.add('gateway.spend', labels, usd);
    if (it.unbilled !== undefined)
      this.add('gateway.spend.unbilled', { ...labels, reason: it.unbilled }, usd);
    if (it.full !== undefined)
      this.add('gateway.rate_limit.refusals', { ...labels, subject_kind: 'api_key', measure: it.full });
    if (it.duplicate === true) this.add('gateway.duplicates', labels);
    if (it.unusable === true) this.add('gateway.usage.unusable', labels);
  }

  private tools(it: Documented, labels: Labels): void {
    const tools = 'tools' in it ? it.tools : 0;
    if (it.family === 'embeddings' || tools === undefined) return;
    this.add('gateway.request.tools.exposed', labels);
    if (it.call !== undefined) this.add('gateway.request.tools.invoked', labels);
  }

  private genAi(
    { family, routed = true, call, code, firstToken, usage = false }: Documented,
    model: string,
  ): void {
    const server = {
      'gen_ai.operation.name': family === 'embeddings' ? 'embeddings' : 'chat',
      'gen_ai.provider.name': 'up',
      'gen_ai.request.model': model,
    };
    const client = { ...server, 'gen_ai.request.model': `up-${model}` };
    if (routed)
      this.add('gen_ai.server.request.duration', {
        ...server,
        ...(code === undefined ? {} : { 'error.type': code }),
      });
    if (firstToken === true) {
      this.add('gen_ai.server.time_to_first_token', server);
      this.add('gen_ai.server.time_per_output_token', server);
    }
    if (call === undefined) return;
    this.add('gen_ai.client.operation.duration', {
      ...client,
      ...(call === '' ? {} : { 'error.type': call }),
    });
    if (usage) this.add('gen_ai.client.token.usage', { ...client, 'gen_ai.token.type': 'input' });
    if (usage && family !== 'embeddings')
      this.add('gen_ai.client.token.usage', { ...client, 'gen_ai.token.type': 'output' });
  }
}

/** The points of requests that the collector has received, in the same form. */
function received(metrics: ReadonlyMap<string, ReceivedMetric>): ReadonlyMap<string, number> {
  const points = new Map<string, number>();
  for (const { name, points: each } of metrics.values()) {
    if (name in processMetrics || name.startsWith('otel.sdk.')) continue;
    for (const { attributes, value, count } of each) points.set(pointOf(name, attributes), count ?? value);
  }
  return points;
}

const rounded = (points: ReadonlyMap<string, number>) =>
  Object.fromEntries(Array.from(points, ([at, value]) => [at, Number(value.toPrecision(9))]));

const price = (family: Family): number =>
  family === 'embeddings' ? 10 * 0.15e-6 : 10 * 0.15e-6 + 20 * 0.6e-6;
const dearPrice = (family: Family): number => (family === 'embeddings' ? 0.006 : 0.006 + 20 * 0.6e-6);

/** The SDK's own metrics of its span queue. */
const sdkMetrics = [
  'otel.sdk.processor.span.processed',
  'otel.sdk.processor.span.queue.capacity',
  'otel.sdk.processor.span.queue.size',
];

describe('each request family and each outcome yields exactly the documented points', () => {
  const expected = new Expected();
  let receiver: OtlpReceiver;
  let upstream: ReplayUpstream;
  let lines: TestGateway['log']['lines'] = [];
  let asked = 0;

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    upstream = await startReplayUpstream(answer);
    const server = {
      otel_endpoint: receiver.url,
      otel_bespoke_tags: ['tenant'],
      otel_export_interval_secs: 3600,
    };
    const gateway = await startGateway(config(upstream.url, server), database.url());
    const sent = async (it: Documented, how: Asked = {}): Promise<void> => {
      asked += 1;
      expected.request(it);
      await ask(gateway, it.family, {
        ...how,
        stream: it.stream ?? false,
        ...('model' in it ? { model: it.model ?? 'nobody-knows-it' } : {}),
      });
    };
    for (const family of families) await everyOutcome(family, sent);
    await beyond(sent);
    for (const family of families) {
      asked += 1;
      const stream = family !== 'embeddings';
      expected.request({
        family,
        model: 'silent',
        stream,
        outcome: 'client_closed',
        code: 'client_closed',
        pricing: 'usage_missing',
        call: 'client_closed',
        disconnected: 'lost',
      });
      await leave(gateway, upstream, family, { model: 'silent', stream });
    }
    await askMcp(gateway);
    expected.mcpCall({ 'mcp.method.name': 'ping', mcp_server_id: 'gone' });
    lines = gateway.log.lines;
    await gateway.stop();
  });
  afterAll(async () => {
    await upstream?.close();
    await receiver?.close();
  });

  /** The spans of model requests. */
  const spansOf = (wanted: 'server' | 'client') =>
    receiver.spans().filter(({ kind, attributes }) => kind === wanted && !('mcp.method.name' in attributes));

  type Sent = (it: Documented, how?: Asked) => Promise<void>;

  async function everyOutcome(family: Family, sent: Sent): Promise<void> {
    const usd = price(family);
    const good = { usage: true, pricing: 'priced', usd, call: '' } as const;
    await sent({ family, ...good });
    if (family !== 'embeddings') await sent({ family, stream: true, ...good, firstToken: true });
    const nothing = { model: undefined, routed: false, tools: undefined } as const;
    await sent(
      { family, ...nothing, owner: 'none', outcome: 'unauthenticated', code: 'invalid_api_key' },
      { key: aKey() },
    );
    await sent({ family, ...nothing, outcome: 'invalid_request', code: 'invalid_request' }, { body: '{' });
    await sent(
      { family, routed: false, outcome: 'forbidden', code: 'model_not_granted' },
      { key: keys.limited },
    );
    await sent({ family, ...nothing, tools: 0, outcome: 'not_found', code: 'model_not_found' });
    await sent({
      family,
      model: 'off',
      routed: false,
      outcome: 'no_routes_available',
      code: 'no_routes_available',
    });
    const blocked = { outcome: 'budget_error', code: 'budget_exceeded' } as const;
    await sent({ family, ...blocked }, { key: keys.poor });
    await sent(
      {
        family,
        model: 'dear',
        ...blocked,
        usage: true,
        unbilled: 'blocked',
        usd: dearPrice(family),
        call: '',
      },
      { key: keys.tight },
    );
    await sent({ family, model: 'broken', outcome: 'upstream_error', code: 'upstream_error', call: '500' });
    const id = `defect-${family}`;
    await query(`alter table request_logs add constraint no_row check (request_id <> '${id}')`);
    await sent(
      {
        family,
        ...good,
        pricing: undefined,
        outcome: 'internal_error',
        code: 'internal_error',
        unbilled: 'lost',
      },
      { headers: { 'x-request-id': id } },
    );
    await query('alter table request_logs drop constraint no_row');
  }

  /** Cases without an outcome of their own. */
  async function beyond(sent: Sent): Promise<void> {
    const family = 'chat_completions';
    const usd = price(family);
    const good = { family, usage: true, pricing: 'priced', usd, call: '' } as const;
    await sent({ ...good, owner: 'team' }, { key: keys.team });
    await sent(
      { ...good, tags: { caller_service: 'shop', caller_env: 'prod', 'caller_tag.tenant': 't1' } },
      {
        headers: {
          'x-gateway-service': 'shop',
          'x-gateway-env': 'prod',
          'x-gateway-tags': 'tenant=t1; other=x',
        },
      },
    );
    await sent({ ...good, model: 'free', pricing: 'unpriced' });
    await sent({ family, model: 'mute', pricing: 'usage_missing', call: '' });
    await sent({ family, model: 'odd', pricing: 'usage_missing', call: '', unusable: true });
    const again = { headers: { 'x-request-id': 'twice' } };
    await sent(good, again);
    await sent({ family, usage: true, usd, call: '', duplicate: true, unbilled: 'duplicate' }, again);
    const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
    // As if another process that is alive had a request of this key in flight.
    await query(
      `with other as (insert into gateway_processes values (gen_random_uuid(), now() + interval '1 hour', now())
                      returning process_id)
       insert into rate_limit_holds
       select subject, gen_random_uuid(), process_id, now() + interval '1 hour' from rate_limits, other`,
    );
    const full = { outcome: 'overloaded', code: 'rate_limited' } as const;
    await sent({ family, ...full, owner: 'team', full: 'in_flight' }, { key: keys.narrow });
    await sent(good, { more: { tools: [tool, { ...tool, function: { ...tool.function, name: 'g' } }] } });
  }

  it('for requests, tokens, spend, usage records, tools and upstream calls', () => {
    expect(rounded(received(receiver.metrics()))).toEqual(rounded(expected.points));
  });

  it('with one outcome, one log line and one server span per request', () => {
    const total = (name: string) =>
      receiver
        .metrics()
        .get(name)
        ?.points.reduce((sum, { value, count }) => sum + (count ?? value), 0);
    expect(total('gateway.requests')).toBe(asked);
    expect(total('gateway.request.outcomes')).toBe(asked);
    expect(total('gateway.request.duration')).toBe(asked);
    expect(lines.filter(({ message }) => message === 'request')).toHaveLength(asked);
    expect(spansOf('server')).toHaveLength(asked);
  });

  it('with the number of exposed tools, not of the requests that expose some', () => {
    const offered = receiver.metrics().get('gateway.request.tools.exposed')?.points ?? [];
    expect(offered.reduce((sum, { value }) => sum + value, 0)).toBe(2);
  });

  it('with exactly the names, units, kinds, bounds and labels of the table', () => {
    const metrics = receiver.metrics();
    const ours = [...metrics.keys()].filter((name) => !sdkMetrics.includes(name));
    expect(ours.sort()).toEqual(Object.keys(metricTable).sort());
    for (const [name, { kind, unit, labels, bounds, says }] of Object.entries<{
      kind: string;
      unit: string;
      labels: readonly string[];
      bounds?: readonly number[];
      says: string;
    }>(metricTable)) {
      const metric = metrics.get(name);
      expect(metric).toMatchObject({ unit, description: says, shape: kind === 'money' ? 'sum' : kind });
      expect([name, metric?.bounds]).toEqual([name, bounds]);
      for (const { attributes } of metric?.points ?? [])
        for (const label of Object.keys(attributes))
          expect([...labels, 'caller_tag.tenant']).toContain(label);
    }
  });

  it('with plausible values in the metrics of the process', () => {
    const points = (name: string) => receiver.metrics().get(name)?.points ?? [];
    const one = (name: string) => points(name)[0]?.value ?? Number.NaN;
    expect(one('gateway.requests.in_flight')).toBe(0);
    expect(points('gateway.queue.depth').map(({ value }) => value)).toEqual([0, 0]);
    expect(one('gateway.journal.size')).toBe(0);
    expect(one('gateway.journal.limit')).toBeGreaterThan(1e6);
    expect(one('db.client.connection.max')).toBe(10);
    expect(points('gateway.payloads')[0]).toMatchObject({ attributes: { fate: 'kept' } });
    expect(one('gateway.payloads')).toBeGreaterThan(0);
    expect(points('gateway.alert_mails')).toMatchObject([
      { attributes: { delivery_status: 'sent' }, value: 0 },
      { attributes: { delivery_status: 'failed' } },
    ]);
    expect(one('process.memory.usage')).toBeGreaterThan(1e7);
    expect(one('nodejs.eventloop.utilization')).toBeLessThanOrEqual(1);
    expect(one('nodejs.eventloop.delay.max')).toBeLessThan(10);
  });

  it('with the name, version and instance id of the process as their resource', () => {
    for (const { resource } of receiver.metrics().values())
      expect(resource).toMatchObject({
        'service.name': 'model-gateway',
        'service.version': expect.stringMatching(/^\d+\.\d+/),
        'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
  });

  it('without token counts if the usage is unknown', () => {
    for (const model of ['mute', 'odd', 'silent', 'broken'])
      for (const name of ['gateway.tokens', 'gen_ai.client.token.usage'])
        for (const { attributes } of receiver.metrics().get(name)?.points ?? [])
          expect([model, `up-${model}`]).not.toContain(
            attributes['model_key'] ?? attributes['gen_ai.request.model'],
          );
  });

  it.each(families)(
    'and a server span with child spans for admission, the upstream call and settlement: %s',
    (family) => {
      const server = receiver
        .spans()
        .find(
          ({ kind, attributes }) =>
            kind === 'server' &&
            attributes['gateway.operation'] === family &&
            attributes['gateway.outcome'] === 'success',
        );
      if (server === undefined) throw new Error(`no request to ${family} succeeded`);
      expect(server).toMatchObject({
        name: `POST ${pathOf(family)}`,
        parentSpanId: undefined,
        failed: false,
      });
      expect(server.attributes).toMatchObject({
        'http.request.method': 'POST',
        'http.route': pathOf(family),
        'http.response.status_code': 200,
        'gateway.model_key': 'good',
        'gateway.provider_key': 'up',
        'gateway.owner_kind': 'user',
        'gateway.pricing_status': 'priced',
        'gateway.request_log_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      const children = receiver.spans().filter(({ parentSpanId }) => parentSpanId === server.spanId);
      const operation = family === 'embeddings' ? 'embeddings' : 'chat';
      expect(children.map(({ name, kind }) => [name, kind])).toEqual([
        ['admission', 'internal'],
        [`${operation} up-good`, 'client'],
        ['settlement', 'internal'],
      ]);
      for (const { traceId, from, to } of children) {
        expect(traceId).toBe(server.traceId);
        expect(from >= server.from && to <= server.to && to >= from).toBe(true);
      }
      expect(children[1]?.attributes).toMatchObject({
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': 'up',
        'gen_ai.request.model': 'up-good',
        'gen_ai.usage.input_tokens': 10,
      });
    },
  );

  it('and an error span with its `error.type` for each failure, but not for client errors', () => {
    const servers = spansOf('server');
    const failed = servers.filter((span) => span.failed).map(({ attributes }) => attributes['error.type']);
    expect(new Set(failed)).toEqual(new Set(['internal_error', 'no_routes_available', 'upstream_error']));
    const calls = spansOf('client').filter(({ failed: so }) => so);
    expect(calls.filter(({ attributes }) => attributes['error.type'] === '500')).toHaveLength(4);
    expect(calls.filter(({ attributes }) => attributes['error.type'] === 'client_closed')).toHaveLength(4);
  });

  it('and log lines with the trace ids of the server spans', () => {
    const traced = lines
      .filter(({ message }) => message === 'request')
      .map(({ fields }) => fields['trace_id']);
    const spans = spansOf('server');
    expect(traced).toHaveLength(spans.length);
    expect(new Set(traced)).toEqual(new Set(spans.map(({ traceId }) => traceId)));
  });
});
