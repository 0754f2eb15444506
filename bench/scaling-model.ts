// Replicas, shards and owners in simulated time: how long requests wait for the database when machines are added. The
// collectors are the gateway's (rule 37.13): one batch under way per node, for one of its shards, and another one while
// that one is slow.
import { randomFrom } from '../test/support/seeded.ts';

/** The cost of a statement: microseconds of the node's CPU, for the statement and for each of its requests. */
export interface StatementCost {
  readonly fixed: number;
  readonly each: number;
}

export interface Costs {
  readonly admission: StatementCost;
  readonly settlement: StatementCost;
  /** Microseconds until a commit is on disk. Meanwhile the scopes stay locked, and no CPU is used. */
  readonly commit: number;
  /** Microseconds of a network round trip between a gateway and a node. */
  readonly network: number;
  /** Milliseconds between admission and settlement, which the provider takes. */
  readonly providerMs: number;
}

export interface Deployment {
  readonly perSecond: number;
  readonly owners: number;
  /** Zipf's exponent: the owner of rank r has a share of 1 / r^exponent. With 0 all shares are equal. */
  readonly exponent: number;
  /** Serving processes. */
  readonly replicas: number;
  /** Whether the balancer always sends an owner to the same replica, instead of to any. */
  readonly sticky: boolean;
  readonly nodes: number;
  readonly shardsPerNode: number;
  readonly coresPerNode: number;
  /** How many owners the busiest one was divided into, such as several teams in place of one. */
  readonly hotOwnerParts: number;
}

export interface Figures {
  /** Milliseconds of admission and settlement together. */
  readonly p50: number;
  readonly p99: number;
  /** The same for the busiest owner alone, or its parts. */
  readonly hotP99: number;
  /** The fraction of arrived requests that were settled by the end, with time for the provider added. */
  readonly served: number;
  readonly hotServed: number;
  /** Average number of requests in a settlement. */
  readonly batch: number;
  /** The fraction of its cores that the busiest node used, 0 to 1. */
  readonly busiest: number;
  /** Cores in use, over all nodes. */
  readonly cores: number;
  /** Requests per second of the busiest owner, or of its parts. */
  readonly hotPerSecond: number;
}

const maxBatch = 200;
const slowBatchUs = 25_000;
const maxBatches = 4;
const maxOfShard = 2;

interface Request {
  readonly owner: number;
  readonly shard: number;
  readonly arrivedAt: number;
  readonly isHot: boolean;
  waitedUs: number;
  askedAt: number;
}

type Stage = 'admission' | 'settlement';

/** A queue of events, by time. */
class Events {
  private readonly heap: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  private order = 0;
  now = 0;

  at(time: number, run: () => void): void {
    const { heap } = this;
    let place = heap.length;
    const added = { at: time, order: this.order++, run };
    heap.push(added);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(added, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = added;
  }

  after(delay: number, run: () => void): void {
    this.at(this.now + delay, run);
  }

  /** False when there are no more events before `until`. */
  next(until: number): boolean {
    const { heap } = this;
    const first = heap[0];
    if (first === undefined || first.at > until) return false;
    const last = heap.pop();
    if (last !== undefined && last !== first) this.sink(last);
    this.now = first.at;
    first.run();
    return true;
  }

  private sink(last: (typeof this.heap)[number]): void {
    const { heap } = this;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) child += 1;
      const smaller = heap[child];
      if (smaller === undefined || !isBefore(smaller, last)) break;
      heap[place] = smaller;
      place = child;
    }
    heap[place] = last;
  }
}

const isBefore = (
  one: { readonly at: number; readonly order: number },
  other: { readonly at: number; readonly order: number },
): boolean => one.at < other.at || (one.at === other.at && one.order < other.order);

/** A queue for a number of places. */
class Places {
  private free: number;
  private readonly waiting: (() => void)[] = [];
  private first = 0;

  constructor(free: number) {
    this.free = free;
  }

  take(then: () => void): void {
    if (this.free > 0) {
      this.free -= 1;
      then();
    } else this.waiting.push(then);
  }

  give(): void {
    const next = this.waiting[this.first];
    if (next === undefined) {
      this.free += 1;
      return;
    }
    this.first += 1;
    if (this.first > 1024 && this.first * 2 > this.waiting.length) {
      this.waiting.splice(0, this.first);
      this.first = 0;
    }
    next();
  }
}

/** Draws ranks by Zipf's law, from the cumulative shares. */
function ranks(
  owners: number,
  exponent: number,
): { readonly draw: (at: number) => number; readonly hot: number } {
  const sums = new Float64Array(owners);
  let sum = 0;
  for (let rank = 0; rank < owners; rank += 1) {
    sum += 1 / (rank + 1) ** exponent;
    sums[rank] = sum;
  }
  return {
    hot: 1 / sum,
    draw: (part) => {
      const wanted = part * sum;
      let [low, high] = [0, owners - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((sums[middle] ?? sum) < wanted) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  };
}

/** The place of an owner among shards or replicas, distributed like a hash. */
const spread = (owner: number, over: number): number => (Math.imul(owner + 1, 0x9e3779b1) >>> 0) % over;

/** Simulates this many seconds of a deployment, after a quarter of a second of warm-up. */
export function simulated(of: Deployment, costs: Costs, seconds: number, seed: number): Figures {
  const events = new Events();
  const random = randomFrom(seed);
  const zipf = ranks(of.owners, of.exponent);
  const shards = of.nodes * of.shardsPerNode;
  const cores = Array.from({ length: of.nodes }, () => new Places(of.coresPerNode));
  const usedUs = new Float64Array(of.nodes);
  const locks = new Map<number, Places>();
  const collectors = new Map<number, Collector>();
  const warmUs = 250_000;
  const endUs = warmUs + seconds * 1e6;
  const waited: number[] = [];
  const hotWaited: number[] = [];
  let [came, hotCame, batches, batched] = [0, 0, 0, 0];
  const counts = (time: number): boolean => time >= warmUs && time < endUs;

  /** Takes locks in one order for all, then a core, then the disk. */
  function run(stage: Stage, node: number, batch: readonly Request[], then: () => void): void {
    const cost = costs[stage];
    const cpu = cost.fixed + cost.each * batch.length;
    const wanted =
      stage === 'admission' ? [] : [...new Set(batch.map(({ owner }) => owner))].toSorted((a, b) => a - b);
    const work = (): void =>
      cores[node]?.take(() => {
        if (counts(events.now)) usedUs[node] = (usedUs[node] ?? 0) + cpu;
        events.after(cpu, () => {
          cores[node]?.give();
          events.after(stage === 'admission' ? 0 : costs.commit, () => {
            for (const owner of wanted) locks.get(owner)?.give();
            events.after(costs.network / 2, then);
          });
        });
      });
    const lock = (at: number): void => {
      const owner = wanted[at];
      if (owner === undefined) return work();
      const held = locks.get(owner) ?? new Places(1);
      locks.set(owner, held);
      held.take(() => lock(at + 1));
    };
    events.after(costs.network / 2, () => lock(0));
  }

  class Collector {
    private readonly stage: Stage;
    private readonly node: number;
    private waiting: Request[] = [];
    private underWay = 0;
    private lastStart = 0;
    private readonly busy = new Set<number>();
    private readonly busyShards = new Map<number, number>();
    private looking = false;

    constructor(stage: Stage, node: number) {
      this.stage = stage;
      this.node = node;
    }

    add(request: Request): void {
      request.askedAt = events.now;
      this.waiting.push(request);
      this.schedule();
    }

    private schedule(): void {
      if (this.waiting.length === 0 || this.underWay >= maxBatches) return;
      const lasted = events.now - this.lastStart;
      // One microsecond of tolerance, because a rounding error may be too small to advance the time.
      if (this.underWay > 0 && lasted < slowBatchUs - 1) {
        if (this.looking) return;
        this.looking = true;
        events.after(slowBatchUs - lasted, () => {
          this.looking = false;
          this.schedule();
        });
        return;
      }
      const batch: Request[] = [];
      const rest: Request[] = [];
      for (const each of this.waiting) (this.fits(each, batch) ? batch : rest).push(each);
      this.waiting = rest;
      if (batch.length > 0) this.start(batch);
    }

    private fits({ owner, shard }: Request, batch: readonly Request[]): boolean {
      if (batch.length >= maxBatch || this.busy.has(owner)) return false;
      const [first] = batch;
      return first === undefined ? (this.busyShards.get(shard) ?? 0) < maxOfShard : shard === first.shard;
    }

    private count(shard: number, change: 1 | -1): void {
      this.busyShards.set(shard, (this.busyShards.get(shard) ?? 0) + change);
    }

    private start(batch: readonly Request[]): void {
      const shard = batch[0]?.shard ?? 0;
      this.count(shard, 1);
      this.underWay += 1;
      this.lastStart = events.now;
      if (this.stage === 'settlement') {
        for (const { owner } of batch) this.busy.add(owner);
        if (counts(events.now)) {
          batches += 1;
          batched += batch.length;
        }
      }
      run(this.stage, this.node, batch, () => {
        this.underWay -= 1;
        this.count(shard, -1);
        for (const request of batch) {
          this.busy.delete(request.owner);
          request.waitedUs += events.now - request.askedAt;
          ended(this.stage, request);
        }
        this.schedule();
      });
    }
  }

  function collectorOf(stage: Stage, replica: number, node: number): Collector {
    const key = (replica * of.nodes + node) * 2 + (stage === 'admission' ? 0 : 1);
    const known = collectors.get(key);
    if (known !== undefined) return known;
    const made = new Collector(stage, node);
    collectors.set(key, made);
    return made;
  }

  const replicaOf = new WeakMap<Request, number>();
  function ended(stage: Stage, request: Request): void {
    if (stage === 'admission') {
      events.after(costs.providerMs * 1000, () => enter('settlement', request));
      return;
    }
    if (!counts(request.arrivedAt)) return;
    waited.push(request.waitedUs);
    if (request.isHot) hotWaited.push(request.waitedUs);
  }
  const enter = (stage: Stage, request: Request): void =>
    collectorOf(stage, replicaOf.get(request) ?? 0, Math.floor(request.shard / of.shardsPerNode)).add(
      request,
    );

  function arrive(): void {
    const rank = zipf.draw(random());
    const isHot = rank === 0;
    const owner = isHot ? -Math.floor(random() * of.hotOwnerParts) : rank;
    const shard = spread(owner, shards);
    const request: Request = { owner, shard, arrivedAt: events.now, isHot, waitedUs: 0, askedAt: 0 };
    replicaOf.set(request, of.sticky ? spread(owner * 7, of.replicas) : Math.floor(random() * of.replicas));
    if (counts(events.now)) {
      came += 1;
      if (isHot) hotCame += 1;
    }
    enter('admission', request);
    const next = events.now - (Math.log(1 - random()) / of.perSecond) * 1e6;
    if (next < endUs) events.at(next, arrive);
  }
  events.at(0, arrive);
  // Requests that arrived in time get the provider's time, and a tenth of a second for the database, to be served.
  const lastUs = endUs + costs.providerMs * 1000 + 100_000;
  while (events.next(lastUs));
  const sorted = Float64Array.from(waited).toSorted();
  const hotSorted = Float64Array.from(hotWaited).toSorted();
  const part = (values: Float64Array, at: number): number =>
    (values[Math.min(values.length - 1, Math.floor(values.length * at))] ?? Number.NaN) / 1000;
  return {
    p50: part(sorted, 0.5),
    p99: part(sorted, 0.99),
    hotP99: part(hotSorted, 0.99),
    served: waited.length / came,
    hotServed: hotWaited.length / hotCame,
    batch: batched / batches,
    busiest: Math.max(...usedUs) / (seconds * 1e6 * of.coresPerNode),
    cores: usedUs.reduce((sum, each) => sum + each, 0) / (seconds * 1e6),
    hotPerSecond: of.perSecond * zipf.hot,
  };
}
