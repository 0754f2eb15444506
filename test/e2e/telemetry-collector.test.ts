import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { spanExporter } from '../../infrastructure/telemetry/otlp-exporters.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, memoryLog, startGateway, type TestGateway } from '../support/gateway.ts';
import { type OtlpReceiver, startOtlpReceiver, until } from '../support/otlp-receiver.ts';
import { type Replay, type ReplayUpstream, startReplayUpstream } from '../support/replay-upstream.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { timed } from '../support/undisturbed.ts';
import { startHeldUpstream } from './held-upstream.ts';
import { startCommand } from './processes.ts';
import { streamed, whole } from './scene.ts';
import { chat, talks } from './talk.ts';

const database = withDatabase();
const key = aKey();

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const later = <A extends { readonly close: () => Promise<unknown> }>(opened: A): A => {
  closing.push(opened.close);
  return opened;
};

const collector = async (): Promise<OtlpReceiver> => later(await startOtlpReceiver());
const upstreamOf = async (answer: Parameters<typeof startReplayUpstream>[0]): Promise<ReplayUpstream> =>
  later(await startReplayUpstream(answer));

async function gatewayWith(
  upstreamUrl: string,
  server: object,
  over: Parameters<typeof basicConfig>[2] = {},
): Promise<TestGateway> {
  const more = { ...over.more, server: { bind: '127.0.0.1:0', ...server } };
  const gateway = await startGateway(basicConfig(upstreamUrl, key, { ...over, more }), database.url());
  let running = true;
  const stop = async (): Promise<void> => {
    if (running) await gateway.stop();
    running = false;
  };
  closing.push(stop);
  return { ...gateway, stop };
}

const answers = { whole: (): Replay => whole(chat.upstream.whole) };

const post = (
  { url }: Pick<TestGateway, 'url'>,
  headers: Readonly<Record<string, string>> = {},
  body: object = chat.body(false),
  at = chat.path,
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(`${url}${at}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

const told = ({ log }: Pick<TestGateway, 'log'>, message: string) =>
  log.lines.filter((line) => line.message === message).map(({ level, fields }) => ({ level, ...fields }));

const notExported = 'telemetry could not be exported';

describe('a collector', () => {
  it('receives all pending telemetry when the process ends', async () => {
    const receiver = await collector();
    const upstream = await upstreamOf(answers.whole);
    const gateway = await gatewayWith(upstream.url, {
      otel_endpoint: receiver.url,
      otel_export_interval_secs: 3600,
    });
    await post(gateway);
    expect(receiver.requests()).toEqual({});
    await gateway.stop();
    expect(receiver.spans()).toHaveLength(4);
    expect(receiver.metrics().get('gateway.requests')?.points).toHaveLength(1);
  });

  it('receives metrics at each interval while the process runs', async () => {
    const receiver = await collector();
    const upstream = await upstreamOf(answers.whole);
    const server = { otel_endpoint: receiver.url, otel_export_interval_secs: 1 };
    const gateway = await gatewayWith(upstream.url, server);
    await post(gateway);
    await until(() => receiver.metrics().get('gateway.requests')?.points[0]?.value === 1);
    await post(gateway);
    await until(() => receiver.metrics().get('gateway.requests')?.points[0]?.value === 2);
  });

  it('for metrics can be another one than that for traces', async () => {
    const [traces, metrics] = [await collector(), await collector()];
    const upstream = await upstreamOf(answers.whole);
    const server = { otel_endpoint: `${traces.url}/`, otel_metrics_endpoint: metrics.url };
    const gateway = await gatewayWith(upstream.url, server);
    await post(gateway);
    await gateway.stop();
    expect(Object.keys(traces.requests())).toEqual(['/v1/traces']);
    expect(Object.keys(metrics.requests())).toEqual(['/v1/metrics']);
  });

  it('for metrics only does not change the trace context of clients', async () => {
    const receiver = await collector();
    const upstream = await upstreamOf(answers.whole);
    const gateway = await gatewayWith(upstream.url, { otel_metrics_endpoint: receiver.url });
    const traceparent = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
    await post(gateway);
    await post(gateway, { traceparent });
    await gateway.stop();
    expect(upstream.requests().map(({ headers }) => headers['traceparent'])).toEqual([
      undefined,
      traceparent,
    ]);
    expect(told(gateway, 'request').map((fields) => 'trace_id' in fields && fields.trace_id)).toEqual([
      undefined,
      traceparent.slice(3, 35),
    ]);
    expect(Object.keys(receiver.requests())).toEqual(['/v1/metrics']);
  });

  it('for traces receives a valid `tracestate` unchanged on all spans of its trace, as the upstream does', async () => {
    const receiver = await collector();
    const upstream = await upstreamOf(answers.whole);
    const gateway = await gatewayWith(upstream.url, { otel_endpoint: receiver.url });
    const parent = (trace: string) => `00-${trace}-${randomBytes(8).toString('hex')}-01`;
    const sent = new Map(
      ['a=1, 1b@c=2 3,,d=4', 'a', undefined].map((state) => [randomBytes(16).toString('hex'), state]),
    );
    for (const [trace, tracestate] of sent)
      await post(gateway, {
        traceparent: parent(trace),
        ...(tracestate === undefined ? {} : { tracestate }),
      });
    await gateway.stop();
    const valid = [...sent.values()].map((state) => (state === 'a' ? undefined : state));
    const stateOf = (trace: string) =>
      new Set(
        receiver
          .spans()
          .filter(({ traceId }) => traceId === trace)
          .map(({ traceState }) => traceState),
      );
    expect([...sent.keys()].map(stateOf)).toEqual(valid.map((state) => new Set([state])));
    expect(upstream.requests().map(({ headers }) => headers['tracestate'])).toEqual(valid);
  });

  it('that refuses exports is logged once per signal, not at each export, and so is its recovery', async () => {
    const receiver = await collector();
    receiver.be('refuses');
    const upstream = await upstreamOf(answers.whole);
    const server = { otel_endpoint: receiver.url, otel_export_interval_secs: 1 };
    const gateway = await gatewayWith(upstream.url, server);
    const counts = () => receiver.requests();
    while ((counts()['/v1/metrics'] ?? 0) < 3 || counts()['/v1/traces'] === undefined) {
      expect((await post(gateway)).status).toBe(200);
      await sleep(100);
    }
    const about = (signal: string) => ({ signal, endpoint: `${receiver.url}/v1/${signal}` });
    const failures = ['metrics', 'traces'].map((signal) => ({
      level: 'warn',
      ...about(signal),
      error: '400',
    }));
    const bySignal = (lines: readonly object[]) =>
      [...lines].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    await until(() => told(gateway, notExported).length >= 2);
    expect(bySignal(told(gateway, notExported))).toEqual(bySignal(failures));
    receiver.be('takes');
    await post(gateway);
    await until(() => told(gateway, 'telemetry is exported again').length === 2);
    expect(told(gateway, notExported)).toHaveLength(2);
  });

  it.each([
    ['refuses', '400'],
    ['takes a part', '3 items rejected'],
    ['is busy', '429, 502, 503 or 504'],
    ['is silent', 'timeout'],
    ['trickles', 'timeout'],
    ['trickles a refusal', 'timeout'],
    ['is not there', 'ECONNREFUSED'],
  ] as const)('that %s is logged with the cause: %s', async (mood, cause) => {
    const receiver = await collector();
    if (mood === 'is not there') await receiver.close();
    else receiver.be(mood);
    const log = memoryLog();
    const exporter = spanExporter({ endpoint: receiver.url, headers: {} }, log);
    await new Promise<void>((resolve) => {
      exporter.export([], () => resolve());
    });
    expect(log.lines.map(({ fields }) => fields)).toMatchObject([{ error: cause }]);
  });

  it('that is silent or unreachable never slows or fails a request, and delays the end by seconds at most', async () => {
    const upstream = await upstreamOf(answers.whole);
    const troubled = async (url: string): Promise<void> => {
      const server = { otel_endpoint: url, otel_export_interval_secs: 1 };
      const gateway = await gatewayWith(upstream.url, server);
      await post(gateway);
      for (let request = 0; request < 50; request += 1) {
        // An export without an answer takes 5 seconds.
        const { value, ms } = await timed(() => post(gateway));
        expect(value.status).toBe(200);
        expect(ms).toBeLessThan(3000);
      }
      expect((await timed(gateway.stop)).ms).toBeLessThan(9000);
      expect(told(gateway, notExported).length).toBeLessThanOrEqual(2);
      expect(told(gateway, 'request')).toHaveLength(51);
    };
    const silent = await collector();
    silent.be('is silent');
    const absent = await startOtlpReceiver();
    await absent.close();
    await Promise.all([troubled(silent.url), troubled(absent.url)]);
  });
});

/** Serves one request in a process of its own with these additional variables; returns its output. */
async function served(
  upstream: ReplayUpstream,
  server: object,
  variables: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) {
  const folder = await makeTestFolder('telemetry');
  const file = path.join(folder, 'gateway.yaml');
  const config = basicConfig(upstream.url, key, { more: { server: { bind: '127.0.0.1:0', ...server } } });
  await writeFile(file, stringify(config));
  const serving = startCommand(['serve'], {
    ...variables,
    GATEWAY_CONFIG: file,
    GATEWAY_DATA_DIR: folder,
    DATABASE_URL: database.url(),
  });
  closing.push(async () => serving.child.kill('SIGKILL'));
  const [, url = ''] = await serving.says(/"url":"([^"]+)"/);
  expect((await post({ url }, headers)).status).toBe(200);
  serving.child.kill('SIGTERM');
  await serving.exited;
  return { out: serving.out(), err: serving.err() };
}

describe('without an endpoint', () => {
  const preload = path.join(import.meta.dirname, '..', 'support', 'report-opentelemetry.mjs');
  const loadedBy = async (upstream: ReplayUpstream, server: object) => {
    const { err } = await served(upstream, server, { NODE_OPTIONS: `--import=${preload}` });
    // The database library loads the API, whose calls do nothing unless an SDK is registered.
    return err.replaceAll('loads @opentelemetry/api\n', '');
  };

  it('a process that serves requests loads nothing of OpenTelemetry but its API; with one it loads the SDK', async () => {
    const receiver = await collector();
    const upstream = await upstreamOf(answers.whole);
    const [without, having] = await Promise.all([
      loadedBy(upstream, {}),
      loadedBy(upstream, { otel_endpoint: receiver.url }),
    ]);
    expect(without).not.toContain('loads @opentelemetry/');
    expect(having).toContain('loads @opentelemetry/sdk-metrics');
    expect(having).toContain('loads @opentelemetry/sdk-node');
  });
});

describe('the environment of a process', () => {
  /** By these the SDK would turn itself off, send elsewhere, or send more, less or another format. */
  const variables = (elsewhere: string) => ({
    OTEL_SDK_DISABLED: 'true',
    OTEL_LOG_LEVEL: 'all',
    OTEL_CONFIG_FILE: '/nowhere.yaml',
    OTEL_TRACES_EXPORTER: 'console,otlp',
    OTEL_METRICS_EXPORTER: 'console,otlp',
    OTEL_LOGS_EXPORTER: 'console,otlp',
    OTEL_PROPAGATORS: 'b3multi,baggage',
    OTEL_TRACES_SAMPLER: 'always_off',
    OTEL_RESOURCE_ATTRIBUTES: 'place=canary,service.version=canary',
    OTEL_SERVICE_NAME: 'canary',
    OTEL_NODE_RESOURCE_DETECTORS: 'all',
    OTEL_NODE_EXPERIMENTAL_SDK_METRICS: 'true',
    OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '1',
    OTEL_BSP_SCHEDULE_DELAY: '1',
    OTEL_METRIC_EXPORT_INTERVAL: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: elsewhere,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: elsewhere,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: elsewhere,
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: elsewhere,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-canary=canary',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
  });

  it('does not change what is exported, its destination, or what upstreams receive', async () => {
    const elsewhere = await collector();
    const traceId = randomBytes(16).toString('hex');
    const seenWith = async (environment: Readonly<Record<string, string>>) => {
      const receiver = await collector();
      const upstream = await upstreamOf(answers.whole);
      const server = { otel_endpoint: receiver.url, otel_export_interval_secs: 3600 };
      const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`;
      const printed = await served(upstream, server, environment, { traceparent, tracestate: 'v=1' });
      const [resource] = receiver.spans().map((span) => Object.entries(span.resource));
      return {
        requests: receiver.requests(),
        sent: receiver.headers().map((each) => Object.keys(each).sort()),
        resource: resource?.map(([name, value]) => (name === 'service.instance.id' ? name : [name, value])),
        spans: receiver.spans().map((span) => [span.name, span.traceId, Object.keys(span.attributes)]),
        metrics: [...receiver.metrics().keys()].sort(),
        upstream: upstream.requests().map(({ path: target, text, headers }) => {
          const { host, traceparent: sent, ...others } = headers;
          // The span is another one in each request.
          return { target, text, others, host: host?.replace(/\d+$/, ''), trace: String(sent).slice(0, 35) };
        }),
        text: receiver.text().includes('canary'),
        err: printed.err,
        // Lines of the SDK's console exporters and its own log, which do not have the gateway's format.
        foreign: printed.out.split('\n').filter((line) => line !== '' && !/^\{"level":.*\}$/.test(line)),
      };
    };
    const without = await seenWith({});
    const having = await seenWith(variables(elsewhere.url));
    expect(without).toMatchObject({
      requests: { '/v1/traces': 1, '/v1/metrics': 1 },
      text: false,
      err: '',
      foreign: [],
    });
    expect(without.spans).toHaveLength(4);
    expect(having).toEqual(without);
    expect(elsewhere.requests()).toEqual({});
  });
});

describe('outcomes that need more than a request', () => {
  it('a process at `max_in_flight` is overloaded: one point for each refusal', async () => {
    const receiver = await collector();
    const upstream = later(await startHeldUpstream());
    const gateway = await gatewayWith(upstream.url, { otel_endpoint: receiver.url, max_in_flight: 1 });
    const holding = post(gateway);
    const call = await upstream.next();
    for (const talk of talks) expect((await post(gateway, {}, talk.body(false), talk.path)).status).toBe(503);
    expect((await post(gateway, {}, { model: 'fast', input: 'Hi' }, '/v1/embeddings')).status).toBe(503);
    call.head('whole');
    call.write(chat.upstream.whole);
    call.end();
    expect((await holding).status).toBe(200);
    await gateway.stop();
    const outcomes = receiver.metrics().get('gateway.request.outcomes')?.points ?? [];
    const refusal = (operation: string) => ({
      attributes: {
        operation,
        stream: 'false',
        model_key: 'other',
        provider_key: 'other',
        owner_kind: 'none',
        outcome: 'overloaded',
        error_code: 'overloaded',
      },
      value: 1,
    });
    expect(outcomes.filter(({ attributes }) => attributes['outcome'] === 'overloaded')).toEqual(
      ['chat_completions', 'messages', 'responses', 'embeddings'].map((operation) =>
        expect.objectContaining(refusal(operation)),
      ),
    );
    expect(outcomes).toHaveLength(5);
  });

  it('a client disconnect is counted as drained if the response is read to its end', async () => {
    const receiver = await collector();
    const upstream = later(await startHeldUpstream());
    const budget = { cadence: 'monthly', amount_10000: 1_000_000, hard_limit: true };
    const gateway = await gatewayWith(upstream.url, { otel_endpoint: receiver.url }, { user: { budget } });
    const leaving = new AbortController();
    const answer = await Promise.all([
      post(gateway, {}, chat.body(true), chat.path, leaving.signal),
      upstream.next().then((call) => {
        call.head('stream');
        call.write(chat.upstream.begin);
        return call;
      }),
    ]);
    leaving.abort();
    await sleep(100);
    // The gateway has processed by then what it received before, such as the end of a connection.
    for (let asked = 0; asked < 3; asked += 1)
      expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    const { piece, finish, usage, done } = chat.upstream;
    answer[1].write(piece + finish + usage + done);
    answer[1].end();
    await until(() => told(gateway, 'request').length === 1);
    await gateway.stop();
    const labels = {
      operation: 'chat_completions',
      stream: 'true',
      model_key: 'fast',
      provider_key: 'up',
      owner_kind: 'user',
    };
    const points = (name: string) => receiver.metrics().get(name)?.points;
    expect(points('gateway.client_disconnects')).toMatchObject([
      { attributes: { ...labels, upstream: 'drained' }, value: 1 },
    ]);
    expect(points('gateway.usage.records')).toMatchObject([
      { attributes: { ...labels, pricing_status: 'priced' }, value: 1 },
    ]);
    expect(points('gateway.spend')?.[0]?.value).toBeCloseTo(0.0000135, 12);
  });
});

describe('the exported spans and metrics', () => {
  let everything = '';
  const canary = (place: string): string => `canary-${place}-${randomBytes(6).toString('hex')}`;
  const places = 'user system answer error model agent cookie query request-id baggage tool metadata';
  const planted = places.split(' ').map(canary);
  const [user, system, answer, error, model, agent, cookie, query, requestId, baggage, tool, metadata] =
    planted;

  beforeAll(async () => {
    const receiver = await startOtlpReceiver();
    const upstream = await startReplayUpstream(({ body, headers }) => {
      const said = `${answer} ${headers['authorization']}`;
      if (body['n'] === 2)
        return whole({ error: { message: `${error} ${said}`, code: error, type: error } }, { status: 400 });
      const { begin, piece, finish, usage, done } = chat.upstream;
      if (body['stream'] === true)
        return streamed(begin + piece.replace('piece', answer ?? '') + finish + usage + done);
      return whole(chat.upstream.whole.replace('all', answer ?? ''));
    });
    const server = { otel_endpoint: receiver.url, otel_export_interval_secs: 3600 };
    const gateway = await gatewayWith(upstream.url, server);
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ];
    const tools = [{ type: 'function', function: { name: tool, description: tool, parameters: {} } }];
    const headers = {
      'user-agent': `OpenAI/JS ${agent}`,
      cookie: `a=${cookie}`,
      'x-request-id': `${requestId}-${randomUUID()}`,
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      tracestate: `v=${key.slice(key.indexOf('.') + 1)}`,
      baggage: `b=${baggage}`,
    };
    const full = { model: 'fast', messages, tools, metadata: { note: metadata } };
    for (const more of [{}, { stream: true }, { n: 2 }, { model }])
      await post(gateway, headers, { ...full, ...more }, `${chat.path}?key=${query}`);
    const secret = key.slice(key.indexOf('.') + 1);
    await post(gateway, {
      'x-gateway-service': secret.slice(0, 64),
      'x-gateway-tags': `a=${secret.slice(0, 64)}`,
    });
    await gateway.stop();
    everything = receiver.text();
    await receiver.close();
    await upstream.close();
  });

  it.each(planted.map((text) => [text.split('-')[1], text]))(
    'do not contain the text that was in the %s',
    (_place, text) => {
      expect(everything).not.toContain(text);
    },
  );

  it.each([
    ['caller’s key', () => key],
    ['caller’s secret', () => key.slice(key.indexOf('.') + 1)],
    ['upstream’s credential', () => 'upstream-token-0123456789'],
    ['password of the database', () => new URL(database.url()).password],
  ])('do not contain the %s', (_what, secret) => {
    expect(secret().length).toBeGreaterThan(7);
    expect(everything).not.toContain(secret());
  });

  it('contain the expected names and labels, so that the searched text is not empty', () => {
    expect(everything).toContain('"gateway.request.outcomes"');
    expect(everything).toContain('POST /v1/chat/completions');
    expect(everything).toContain('"openai_sdk"');
    expect(everything).toContain('caller_service');
  });
});
