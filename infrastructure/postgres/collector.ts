/** In the place of a result: this item was held up by another one of its batch, and is tried again without it. */
export const putBack = Symbol('put back');

/** One statement for many callers: what arrives while earlier ones are under way is sent together. */
export interface CollectorOptions<Item, Result> {
  /**
   * Results in the order of the items. A rejection rejects every item of the batch. `putBack` is only for batches of
   * several lanes: from then on each of these travels alone, until it has got through.
   */
  readonly run: (items: readonly Item[]) => Promise<readonly (Result | typeof putBack)[]>;
  /** Items of one lane are never in two batches at once (they would only wait for the same lock). */
  readonly lane: (item: Item) => string | undefined;
  readonly size: (item: Item) => number;
}

/** Rows of a batch: 50 have most of the gain, 200 all of it (rule 37.13). */
const maxBatchItems = 200;
/** Bytes of a batch, so that a statement stays small beside the server's memory. */
const maxBatchBytes = 4 * 1024 * 1024;
/** A second batch starts beside one that has lasted this long: a stuck lane must not hold up the others. */
const slowBatchMs = 25;
/** Batches under way at once: connections of the pool are left for everything else. */
const maxBatches = 4;
/** Of these, batches that hold a single lane because it may be stuck: the others go on beside them. */
const maxSuspectBatches = 2;
/** An item that no statement has taken up for so long is given up: nothing waits without an end. */
const maxWaitMs = 10_000;
/** A suspect lane that is through in this time is not stuck: half of what the database waits for a lock. */
const clearedMs = 1000;

/** The fate of an item that waited too long for its statement. */
export class WaitedTooLong extends Error {}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly addedAt: number;
  readonly lane: string | undefined;
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
  /** Lanes that held up a batch, or were in one that was held up. */
  private readonly suspects = new Set<string | undefined>();
  private waiting: Waiting<Item, Result>[] = [];
  private underWay = 0;
  private suspectsUnderWay = 0;
  private lastStart = 0;
  private scheduled = false;
  private timer: NodeJS.Timeout | undefined;
  private endOfWait: NodeJS.Timeout | undefined;

  constructor(options: CollectorOptions<Item, Result>) {
    this.options = options;
  }

  /** Items that no statement has taken up yet. */
  get depth(): number {
    return this.waiting.length;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lane = this.options.lane(item);
      this.waiting.push({ item, addedAt: performance.now(), lane, resolve, reject });
      this.watchWait();
      this.schedule();
    });
  }

  /** One timer for all: it ends the wait of the oldest, and is set again for the next one. */
  private watchWait(): void {
    const oldest = this.waiting[0];
    if (this.endOfWait !== undefined || oldest === undefined) return;
    const left = oldest.addedAt + maxWaitMs - performance.now();
    this.endOfWait = setTimeout(
      () => {
        this.endOfWait = undefined;
        const since = performance.now() - maxWaitMs;
        const tooOld = this.waiting.filter(({ addedAt }) => addedAt <= since);
        this.waiting = this.waiting.filter(({ addedAt }) => addedAt > since);
        for (const { reject } of tooOld) reject(new WaitedTooLong('no statement took the item up in time'));
        this.watchWait();
      },
      Math.max(1, Math.ceil(left)),
    ).unref();
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.length === 0 || this.underWay >= maxBatches) return;
    const lasted = performance.now() - this.lastStart;
    if (this.underWay > 0 && lasted < slowBatchMs) return this.lookAgain(slowBatchMs - lasted);
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      const batch = this.takeBatch();
      if (batch.length > 0) this.run(batch);
    });
  }

  /** What waits beside a slow batch must not need a new arrival to be sent; a timer that is early is set again. */
  private lookAgain(milliseconds: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.schedule();
    }, Math.ceil(milliseconds));
  }

  private run(batch: readonly Waiting<Item, Result>[]): void {
    const first = batch[0]?.lane;
    const suspect = this.suspects.has(first);
    const startedAt = performance.now();
    this.underWay += 1;
    if (suspect) this.suspectsUnderWay += 1;
    this.lastStart = startedAt;
    for (const { lane } of batch) if (lane !== undefined) this.busyLanes.add(lane);
    const ended = this.options.run(batch.map(({ item }) => item)).then(
      (results) => this.settle(batch, results),
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
    void ended.then(() => {
      this.underWay -= 1;
      if (suspect) this.suspectsUnderWay -= 1;
      if (suspect && performance.now() - startedAt < clearedMs) this.suspects.delete(first);
      for (const { lane } of batch) if (lane !== undefined) this.busyLanes.delete(lane);
      this.schedule();
    });
    this.schedule();
  }

  private settle(
    batch: readonly Waiting<Item, Result>[],
    results: readonly (Result | typeof putBack)[],
  ): void {
    const back: Waiting<Item, Result>[] = [];
    batch.forEach((each, index) => {
      const result = results[index];
      if (result === putBack) {
        back.push(each);
        this.suspects.add(each.lane);
      } else if (result === undefined) {
        each.reject(new Error('a batch gave fewer results than it has items'));
      } else each.resolve(result);
    });
    if (back.length === 0) return;
    this.waiting = [...back, ...this.waiting];
    clearTimeout(this.endOfWait);
    this.endOfWait = undefined;
    this.watchWait();
  }

  /** In arrival order: a suspect lane alone, or all that is not suspect. */
  private takeBatch(): readonly Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = [];
    const rest: Waiting<Item, Result>[] = [];
    let bytes = 0;
    for (const each of this.waiting) {
      const full = batch.length >= maxBatchItems || bytes >= maxBatchBytes;
      if (full || !this.fits(each.lane, batch[0])) rest.push(each);
      else {
        batch.push(each);
        bytes += this.options.size(each.item);
      }
    }
    this.waiting = rest;
    return batch;
  }

  private fits(lane: string | undefined, first: Waiting<Item, Result> | undefined): boolean {
    if (lane !== undefined && this.busyLanes.has(lane)) return false;
    if (first !== undefined && this.suspects.has(first.lane)) return lane === first.lane;
    return !this.suspects.has(lane) || (first === undefined && this.suspectsUnderWay < maxSuspectBatches);
  }
}
