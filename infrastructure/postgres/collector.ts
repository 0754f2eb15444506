/** One statement for many callers: what arrives while earlier ones are under way is sent together. */
export interface CollectorOptions<Item, Result> {
  /** Results in the order of the items. A rejection rejects every item of the batch. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Items of one lane are never in two batches at once (they would only wait for the same lock). */
  readonly lane: (item: Item) => string | undefined;
  readonly size: (item: Item) => number;
}

/** Rows of a batch: 50 have most of the gain, 200 all of it (PERFORMANCE). */
const maxBatchItems = 200;
/** Bytes of a batch, so that a statement stays small beside the server's memory. */
const maxBatchBytes = 4 * 1024 * 1024;
/** A second batch starts beside one that has lasted this long: a stuck lane must not hold up the others. */
const slowBatchMs = 25;
/** Batches under way at once: connections of the pool are left for everything else. */
const maxBatches = 4;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The more load, the cheaper each item: a batch leaves once per turn of the event loop while nothing is under way,
 * and otherwise when the one before it is done.
 */
export class Collector<Item, Result> {
  private readonly options: CollectorOptions<Item, Result>;
  private readonly busyLanes = new Set<string>();
  private waiting: Waiting<Item, Result>[] = [];
  private underWay = 0;
  private lastStart = 0;
  private scheduled = false;

  constructor(options: CollectorOptions<Item, Result>) {
    this.options = options;
  }

  /** Items that no statement has taken up yet. */
  get depth(): number {
    return this.waiting.length;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.length === 0 || this.underWay >= maxBatches) return;
    if (this.underWay > 0 && performance.now() - this.lastStart < slowBatchMs) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      const batch = this.takeBatch();
      if (batch.length > 0) this.run(batch);
    });
  }

  private run(batch: readonly Waiting<Item, Result>[]): void {
    this.underWay += 1;
    this.lastStart = performance.now();
    // What waits beside a slow batch must not need a new arrival to be sent.
    const slow = setTimeout(() => this.schedule(), slowBatchMs);
    const items = batch.map(({ item }) => item);
    const ended = this.options.run(items).then(
      (results) => settle(batch, results),
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
    void ended.then(() => {
      clearTimeout(slow);
      this.underWay -= 1;
      for (const lane of this.lanesOf(items)) this.busyLanes.delete(lane);
      this.schedule();
    });
  }

  private takeBatch(): readonly Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = [];
    const rest: Waiting<Item, Result>[] = [];
    let bytes = 0;
    for (const each of this.waiting) {
      const lane = this.options.lane(each.item);
      const full = batch.length >= maxBatchItems || bytes >= maxBatchBytes;
      if (full || (lane !== undefined && this.busyLanes.has(lane))) rest.push(each);
      else {
        batch.push(each);
        bytes += this.options.size(each.item);
      }
    }
    for (const lane of this.lanesOf(batch.map(({ item }) => item))) this.busyLanes.add(lane);
    this.waiting = rest;
    return batch;
  }

  private lanesOf(items: readonly Item[]): readonly string[] {
    return items.flatMap((item) => this.options.lane(item) ?? []);
  }
}

function settle<Item, Result>(batch: readonly Waiting<Item, Result>[], results: readonly Result[]): void {
  batch.forEach(({ resolve, reject }, index) => {
    const result = results[index];
    if (result === undefined) reject(new Error('a batch gave fewer results than it has items'));
    else resolve(result);
  });
}
