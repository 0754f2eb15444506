import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Labels } from './bounded-labels.ts';
import type { processMetrics } from './metric-table.ts';
import type { Point } from './instruments.ts';

/** What is asked of the process's parts whenever metrics are exported; none of it waits. */
export interface ProcessParts {
  readonly inFlight: () => number;
  readonly queues: () => { readonly admission: number; readonly settlement: number };
  readonly journal: { readonly size: () => number; readonly maxBytes: number };
  readonly payloads: () => { readonly kept: number; readonly shed: number; readonly queuedBytes: number };
  readonly alertMails: () => { readonly sent: number; readonly failed: number };
  readonly connections: () => ConnectionState;
}

export interface ConnectionState {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
  readonly max: number;
}

/** The event loop is looked at this often: often enough to see what a caller would feel. */
const loopResolutionMs = 20;

type Name = keyof typeof processMetrics;
type ProcessPoints = Readonly<Partial<Record<Name, readonly Point[]>>>;

const one = (value: number, labels: Labels = {}): readonly Point[] => [{ labels, value }];

/** Watches the process from now on, until it is closed. */
export class ProcessMetrics {
  private readonly delay: IntervalHistogram = monitorEventLoopDelay({ resolution: loopResolutionMs });
  private parts: ProcessParts | undefined;
  private utilization = performance.eventLoopUtilization();

  constructor() {
    this.delay.enable();
  }

  watch(parts: ProcessParts): void {
    this.parts = parts;
  }

  close(): void {
    this.delay.disable();
  }

  collect(): readonly { readonly name: Name; readonly points: readonly Point[] }[] {
    const read: ProcessPoints = {
      ...this.ofTheRuntime(),
      ...(this.parts === undefined ? {} : ofTheParts(this.parts)),
    };
    return (Object.keys(read) as Name[]).map((name) => ({ name, points: read[name] ?? [] }));
  }

  private ofTheRuntime(): ProcessPoints {
    const before = this.utilization;
    this.utilization = performance.eventLoopUtilization();
    const { user, system } = process.cpuUsage();
    const points = {
      'nodejs.eventloop.delay.p50': one(lateBy(this.delay.percentile(50))),
      'nodejs.eventloop.delay.p99': one(lateBy(this.delay.percentile(99))),
      'nodejs.eventloop.delay.max': one(lateBy(this.delay.max)),
      'nodejs.eventloop.utilization': one(
        performance.eventLoopUtilization(this.utilization, before).utilization,
      ),
      'process.cpu.time': [
        { labels: { 'cpu.mode': 'user' }, value: user / 1e6 },
        { labels: { 'cpu.mode': 'system' }, value: system / 1e6 },
      ],
      'process.memory.usage': one(process.memoryUsage.rss()),
    } satisfies ProcessPoints;
    this.delay.reset();
    return points;
  }
}

function ofTheParts(parts: ProcessParts): ProcessPoints {
  const { inFlight, queues, journal, payloads, alertMails, connections } = parts;
  const { admission, settlement } = queues();
  const { sent, failed } = alertMails();
  const { kept, shed, queuedBytes } = payloads();
  const { used, idle, waiting, max } = connections();
  const pool = { 'db.client.connection.pool.name': 'postgres' };
  return {
    'gateway.requests.in_flight': one(inFlight()),
    'gateway.queue.depth': [
      { labels: { queue: 'admission' }, value: admission },
      { labels: { queue: 'settlement' }, value: settlement },
    ],
    'gateway.journal.size': one(journal.size()),
    'gateway.journal.limit': one(journal.maxBytes),
    'gateway.payloads': [
      { labels: { fate: 'kept' }, value: kept },
      { labels: { fate: 'shed' }, value: shed },
    ],
    'gateway.payloads.queued': one(queuedBytes),
    'gateway.alert_mails': [
      { labels: { delivery_status: 'sent' }, value: sent },
      { labels: { delivery_status: 'failed' }, value: failed },
    ],
    'db.client.connection.count': [
      { labels: { ...pool, 'db.client.connection.state': 'used' }, value: used },
      { labels: { ...pool, 'db.client.connection.state': 'idle' }, value: idle },
    ],
    'db.client.connection.max': one(max, pool),
    'db.client.connection.pending_requests': one(waiting, pool),
  } satisfies ProcessPoints;
}

/** The runtime counts its own interval as delay, and nothing at all as what the interval before was. */
const lateBy = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - loopResolutionMs / 1000);
