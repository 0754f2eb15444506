import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Labels } from './bounded-labels.ts';
import type { MetricPoints, Point } from './instruments.ts';
import type { Label } from './label-table.ts';
import type { processMetrics } from './metric-table.ts';

/** Parts of the process whose state is read at each export of metrics. No read waits for anything. */
export interface ProcessSources {
  readonly inFlight: () => number;
  readonly queues: () => { readonly admission: number; readonly settlement: number };
  readonly journal: { readonly size: () => number; readonly maxBytes: number };
  readonly payloads: () => { readonly kept: number; readonly shed: number; readonly queuedBytes: number };
  readonly invocations: () => { readonly kept: number; readonly shed: number };
  readonly alertMails: () => { readonly sent: number; readonly failed: number };
  readonly connections: () => ConnectionState;
}

export interface ConnectionState {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
  readonly max: number;
}

/** How often the event loop's delay is sampled. A delay that a caller would notice is much longer. */
const loopResolutionMs = 20;

type Name = keyof typeof processMetrics;
type ProcessPoints = Readonly<Partial<Record<Name, readonly Point[]>>>;

const one = (value: number, labels: Labels = {}): readonly Point[] => [{ labels, value }];

/** A point for each value of a label. */
const each = (
  label: Label,
  values: Readonly<Record<string, number>>,
  labels: Labels = {},
): readonly Point[] =>
  Object.entries(values).map(([name, value]) => ({ labels: { ...labels, [label]: name }, value }));

/** The metrics of the process; samples the event loop's delay until it is closed. */
export class ProcessMetrics {
  private readonly delay: IntervalHistogram = monitorEventLoopDelay({ resolution: loopResolutionMs });
  private sources: ProcessSources | undefined;
  private utilization = performance.eventLoopUtilization();

  constructor() {
    this.delay.enable();
  }

  watch(sources: ProcessSources): void {
    this.sources = sources;
  }

  close(): void {
    this.delay.disable();
  }

  collect(): readonly MetricPoints[] {
    const read: ProcessPoints = {
      ...this.runtimePoints(),
      ...(this.sources === undefined ? {} : pointsOf(this.sources)),
    };
    return (Object.keys(read) as Name[]).map((name) => ({ name, points: read[name] ?? [] }));
  }

  private runtimePoints(): ProcessPoints {
    const before = this.utilization;
    this.utilization = performance.eventLoopUtilization();
    const { user, system } = process.cpuUsage();
    const points = {
      'nodejs.eventloop.delay.p50': one(delaySeconds(this.delay.percentile(50))),
      'nodejs.eventloop.delay.p99': one(delaySeconds(this.delay.percentile(99))),
      'nodejs.eventloop.delay.max': one(delaySeconds(this.delay.max)),
      'nodejs.eventloop.utilization': one(
        performance.eventLoopUtilization(this.utilization, before).utilization,
      ),
      'process.cpu.time': each('cpu.mode', { user: user / 1e6, system: system / 1e6 }),
      'process.memory.usage': one(process.memoryUsage.rss()),
    } satisfies ProcessPoints;
    this.delay.reset();
    return points;
  }
}

function pointsOf(sources: ProcessSources): ProcessPoints {
  const { inFlight, queues, journal, payloads, invocations, alertMails, connections } = sources;
  const { queuedBytes, ...fates } = payloads();
  const { used, idle, waiting, max } = connections();
  const pool = { 'db.client.connection.pool.name': 'postgres' };
  return {
    'gateway.requests.in_flight': one(inFlight()),
    'gateway.queue.depth': each('queue', queues()),
    'gateway.journal.size': one(journal.size()),
    'gateway.journal.limit': one(journal.maxBytes),
    'gateway.payloads': each('fate', fates),
    'gateway.payloads.queued': one(queuedBytes),
    'gateway.mcp.records': each('fate', invocations()),
    'gateway.alert_mails': each('delivery_status', alertMails()),
    'db.client.connection.count': each('db.client.connection.state', { used, idle }, pool),
    'db.client.connection.max': one(max, pool),
    'db.client.connection.pending_requests': one(waiting, pool),
  } satisfies ProcessPoints;
}

/**
 * Node's figures include the sampling interval, so it is subtracted. Without samples they are smaller than it, hence
 * the 0.
 */
const delaySeconds = (nanoseconds: number): number =>
  Math.max(0, nanoseconds / 1e9 - loopResolutionMs / 1000);
