import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';

type Value = string | number | boolean | undefined;
export type Attributes = Readonly<Record<string, Value>>;

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly attributes: Attributes;
  readonly failed: boolean;
  /** Nanoseconds since the epoch. */
  readonly from: bigint;
  readonly to: bigint;
  readonly resource: Attributes;
}

export interface ReceivedPoint {
  readonly attributes: Attributes;
  /** The sum for a histogram. */
  readonly value: number;
  /** For a histogram. */
  readonly count: number | undefined;
  readonly bucketCounts: readonly number[] | undefined;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly shape: 'sum' | 'level' | 'gauge' | 'histogram';
  readonly bounds: readonly number[] | undefined;
  readonly points: readonly ReceivedPoint[];
  readonly resource: Attributes;
}

/** How a collector answers. */
export type Mood =
  | 'takes'
  | 'takes a part'
  | 'takes it late'
  | 'refuses'
  | 'is busy'
  | 'is silent'
  | 'trickles'
  | 'trickles a refusal';

const trickledStatus: Partial<Record<Mood, number>> = { trickles: 200, 'trickles a refusal': 400 };

const lateMs = 500;
const partial = JSON.stringify({ partialSuccess: { rejectedSpans: '3', errorMessage: 'token-0123456789' } });

/**
 * A collector that decodes OTLP over HTTP in JSON. Metrics are cumulative: the last export contains
 * everything.
 */
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: () => readonly ReceivedSpan[];
  /** According to the last export. */
  readonly metrics: () => ReadonlyMap<string, ReceivedMetric>;
  /** Requests so far, by path. */
  readonly requests: () => Readonly<Record<string, number>>;
  /** The headers of each request so far. */
  readonly headers: () => readonly IncomingHttpHeaders[];
  /** Everything that was received, as text. */
  readonly text: () => string;
  readonly be: (mood: Mood) => void;
  readonly close: () => Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let metrics: ReadonlyMap<string, ReceivedMetric> = new Map();
  const requests: Record<string, number> = {};
  const headers: IncomingHttpHeaders[] = [];
  const texts: string[] = [];
  let mood: Mood = 'takes';
  const server = createServer((req, res) => void receive(req, res));
  async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const text = await bodyOf(req);
    const path = req.url ?? '';
    requests[path] = (requests[path] ?? 0) + 1;
    headers.push(req.headers);
    if (mood === 'is silent') return;
    const trickled = trickledStatus[mood];
    if (trickled !== undefined) return trickle(res.writeHead(trickled));
    if (mood === 'takes it late') await sleep(lateMs);
    const taken = !['refuses', 'is busy'].includes(mood) && ['/v1/traces', '/v1/metrics'].includes(path);
    if (taken) {
      texts.push(text);
      const body: Wire = JSON.parse(text);
      if (path === '/v1/traces') spans.push(...spansIn(body));
      else metrics = metricsIn(body);
    }
    res
      .writeHead(taken ? 200 : mood === 'is busy' ? 503 : 400, { 'content-type': 'application/json' })
      .end(mood === 'takes a part' ? partial : '{}');
  }
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => spans,
    metrics: () => metrics,
    requests: () => requests,
    headers: () => headers,
    text: () => texts.join('\n'),
    be: (next) => {
      mood = next;
    },
    close: () => closed(server),
  };
}

/** Sends a byte now and then, and never ends. */
function trickle(res: ServerResponse): void {
  const piece = setInterval(() => void res.write(' '), lateMs);
  res.once('close', () => clearInterval(piece));
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => void server.close(() => resolve()));
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of req) pieces.push(piece as Buffer);
  const whole = Buffer.concat(pieces);
  return (req.headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole).toString('utf8');
}

// oxlint-disable-next-line typescript/no-explicit-any -- the wire, read as a collector reads it
type Wire = any;

const attributesIn = (list: readonly Wire[] = []): Attributes =>
  Object.fromEntries(list.map(({ key, value }: Wire) => [key, valueIn(value)]));

const valueIn = (value: Wire): Value => {
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
};

const kinds = { 1: 'internal', 2: 'server', 3: 'client' } as const;

const spansIn = ({ resourceSpans }: Wire): readonly ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }: Wire) =>
    scopeSpans.flatMap(({ spans }: Wire) =>
      spans.map((span: Wire) => ({
        name: span.name,
        kind: kinds[span.kind as keyof typeof kinds],
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        traceState: span.traceState,
        attributes: attributesIn(span.attributes),
        failed: span.status.code === 2,
        from: BigInt(span.startTimeUnixNano),
        to: BigInt(span.endTimeUnixNano),
        resource: attributesIn(resource.attributes),
      })),
    ),
  );

const metricsIn = ({ resourceMetrics }: Wire): ReadonlyMap<string, ReceivedMetric> =>
  new Map(
    resourceMetrics.flatMap(({ resource, scopeMetrics }: Wire) =>
      scopeMetrics.flatMap(({ metrics }: Wire) =>
        metrics.map((metric: Wire) => [metric.name, metricIn(metric, attributesIn(resource.attributes))]),
      ),
    ),
  );

function metricIn(metric: Wire, resource: Attributes): ReceivedMetric {
  const { name, unit, description } = metric;
  const data = metric.sum ?? metric.gauge ?? metric.histogram;
  const cumulative = metric.gauge !== undefined || data.aggregationTemporality === 2;
  if (!cumulative) throw new Error(`${name} is not cumulative`);
  return {
    name,
    unit,
    description,
    shape: shapeOf(metric),
    bounds: data.dataPoints[0]?.explicitBounds,
    points: data.dataPoints.map((point: Wire) => ({
      attributes: attributesIn(point.attributes),
      value: Number(point.asInt ?? point.asDouble ?? point.sum),
      count: point.count === undefined ? undefined : Number(point.count),
      bucketCounts: point.bucketCounts?.map(Number),
    })),
    resource,
  };
}

const shapeOf = ({ sum, gauge }: Wire): ReceivedMetric['shape'] => {
  if (sum !== undefined) return sum.isMonotonic === true ? 'sum' : 'level';
  return gauge === undefined ? 'histogram' : 'gauge';
};

/** Polls until the condition holds. */
export async function until(so: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!so()) {
    if (Date.now() > deadline) throw new Error(`it did not come about in 20 seconds: ${so.toString()}`);
    await sleep(20);
  }
}
