/** Loaded into a gateway before anything else (`--import`): reports over IPC what the process holds. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';
import { Exchange } from '../../infrastructure/providers/exchange.ts';
import { Forwarding } from '../../infrastructure/providers/forwarding.ts';

/** What a process holds after garbage collection. */
export interface Held {
  readonly heapBytes: number;
  /** Of the complete process, as the system counts it. */
  readonly residentBytes: number;
  readonly sockets: number;
  /** Periods, in milliseconds, of the timers that repeat. */
  readonly intervals: readonly number[];
  /** Live objects of each kind, if requested, since counting them stops the process for seconds. */
  readonly objects: Readonly<Record<string, number>>;
}

export type Question = 'heap' | 'objects';

const intervals = new Map<unknown, number>();
const { setInterval: begin, clearInterval: end } = globalThis;
globalThis.setInterval = ((callback: () => void, period: number) => {
  const timer = begin(callback, period);
  intervals.set(timer, period);
  return timer;
}) as typeof setInterval;
globalThis.clearInterval = (timer) => {
  intervals.delete(timer);
  end(timer);
};

const kinds = { Exchange, Forwarding, IncomingMessage, ServerResponse };

function held(question: Question): Held {
  // Several collections, since an object that one frees may have held others.
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  const memory = process.memoryUsage();
  const counted = question === 'objects' ? Object.entries(kinds) : [];
  const objects = counted.map(([name, kind]) => [name, queryObjects(kind, { format: 'count' })]);
  return {
    heapBytes: memory.heapUsed,
    residentBytes: memory.rss,
    sockets: process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length,
    intervals: [...intervals.values()].toSorted((a, b) => a - b),
    objects: Object.fromEntries(objects) as Held['objects'],
  };
}

process.on('message', (question: Question) => {
  process.send?.(held(question));
});
process.channel?.unref();
