import type { BatchTurn, BatchTurns } from './batch-turns.ts';

/** Returned in place of a result if another item of the batch held this one up: it is retried in a batch without it. */
export const putBack = Symbol('put back');

/** One statement for many callers: items that arrive while earlier statements run are sent together in the next one. */
export interface CollectorOptions<Item, Result> {
  /**
   * Sends a batch; results are in the order of the items. A rejection rejects every item. `putBack` is only for batches
   * of several lanes, one of which must be stuck: from then on each of these lanes gets batches of its own, until one
   * of its batches is quick.
   */
  readonly run: (items: readonly Item[]) => Promise<readonly (Result | typeof putBack)[]>;
  /**
   * The lock that the item's statement takes. Concurrent batches never share a lane, or one would wait for the other.
   */
  readonly lane: (item: Item) => string | undefined;
  readonly size: (item: Item) => number;
  /** Items are batched only with items of the same group. Without it, all items may share a batch. */
  readonly group?: (item: Item) => object;
  /** Coordinates batches with the collectors of other servers. */
  readonly turns?: BatchTurns;
  /** The result of an item that no batch answered. Without it, the item is rejected with the reason. */
  readonly unanswered?: (why: WaitedTooLong | WaitCancelled) => Result;
}

/** Items of a batch: 50 give most of the gain in throughput, 200 all of it (rule 37.13). */
const maxBatchItems = 200;
/** Bytes of a batch, so that a statement stays small compared with the server's memory. */
const maxBatchBytes = 4 * 1024 * 1024;
/** A batch of this many items is large: the next one is likely to be as large. */
const largeBatchItems = 4;
/** How long to gather items behind a large batch: a statement costs much the same however many items share it. */
const gatherMs = 2;
/** After this long a second batch starts concurrently, because a stuck lane must not hold up the others. */
const slowBatchMs = 25;
/** Concurrent batches. The other connections of the pool are for everything else. */
const maxBatches = 4;
/** Of these, batches of one group, so that the other groups keep as many. */
const maxOfGroup = 2;
/** Of these, batches of a single lane that may be stuck, so that the other lanes keep two batches. */
const maxSuspectBatches = 2;
/** An item that no batch has taken after this long is rejected, because no wait may be unbounded. */
const maxWaitMs = 10_000;
/** A suspect lane whose batch ends within this time is not stuck. It is half of the database's `lock_timeout`. */
const clearedMs = 1000;

/** No batch has taken the item within `maxWaitMs`. */
export class WaitedTooLong extends Error {}

/** The process is shutting down, so nothing waits any longer. */
class WaitCancelled extends Error {}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly addedAt: number;
  readonly lane: string | undefined;
  readonly group: object | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * While nothing is in progress, sends a batch at the end of the current turn of the event loop; otherwise when the
 * previous batch has ended. Batches therefore grow with the load, and each item becomes cheaper.
 */
export class Collector<Item, Result> {
  private readonly options: CollectorOptions<Item, Result>;
  private readonly busyLanes = new Set<string>();
  /** The number of batches in progress, by group. */
  private readonly busyGroups = new Map<object, number>();
  /** Lanes that held up a batch, or were in one that was held up. */
  private readonly suspects = new Set<string | undefined>();
  private waiting: Waiting<Item, Result>[] = [];
  private readonly underWay: (readonly Waiting<Item, Result>[])[] = [];
  private over = false;
  private suspectsUnderWay = 0;
  private lastStart = 0;
  /** Number of items in the batch that started last. */
  private lastItems = 0;
  private lastEnd = 0;
  private scheduled = false;
  private timer: NodeJS.Timeout | undefined;
  private gathering: NodeJS.Timeout | undefined;
  private readonly wake = (): void => this.schedule();
  private endOfWait: NodeJS.Timeout | undefined;

  constructor(options: CollectorOptions<Item, Result>) {
    this.options = options;
  }

  /** Number of items that no statement has taken yet. */
  get depth(): number {
    return this.waiting.length;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lane = this.options.lane(item);
      const group = this.options.group?.(item);
      const waiting = { item, addedAt: performance.now(), lane, group, resolve, reject };
      if (this.over) return this.leave(waiting, new WaitCancelled('the process ends'));
      this.waiting.push(waiting);
      this.watchWait();
      this.schedule();
    });
  }

  /** On shutdown: from now on nothing waits, neither for a batch to start nor for one in progress. */
  cancelWaits(): void {
    this.over = true;
    const why = new WaitCancelled('the process ends');
    for (const each of [...this.underWay.flat(), ...this.waiting]) this.leave(each, why);
    this.waiting = [];
  }

  private leave({ resolve, reject }: Waiting<Item, Result>, why: WaitedTooLong | WaitCancelled): void {
    const { unanswered } = this.options;
    if (unanswered === undefined) reject(why);
    else resolve(unanswered(why));
  }

  /** One timer for all items: it rejects those that waited too long and is then set again for the oldest one left. */
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
        const why = new WaitedTooLong('no statement took the item up in time');
        for (const each of tooOld) this.leave(each, why);
        this.watchWait();
      },
      Math.max(1, Math.ceil(left)),
    ).unref();
  }

  private schedule(): void {
    const [oldest] = this.waiting;
    if (this.scheduled || oldest === undefined || this.underWay.length >= maxBatches) return;
    const lasted = performance.now() - this.lastStart;
    if (this.underWay.length > 0 && lasted < slowBatchMs) return this.lookAgain(slowBatchMs - lasted);
    if (this.gathers(oldest.addedAt)) return;
    const { turns } = this.options;
    if (turns?.mayBegin(oldest.addedAt, this.wake) === false) return;
    this.scheduled = true;
    const turn = turns?.begin();
    setImmediate(() => {
      this.scheduled = false;
      const batch = this.takeBatch();
      if (batch.length > 0) this.run(batch, turn);
      else turn?.end();
    });
  }

  /**
   * Whether the waiting items, the oldest added at `addedAt`, should wait for more: right behind a large batch briefly,
   * until there are three quarters as many; behind a small one, or some time later, never, so that a lone request is
   * not delayed.
   */
  private gathers(addedAt: number): boolean {
    if (this.lastItems < largeBatchItems || this.waiting.length >= 0.75 * this.lastItems) return false;
    if (addedAt - this.lastEnd > gatherMs) return false;
    const left = addedAt + gatherMs - performance.now();
    if (left <= 0) return false;
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      this.lastItems = 0;
      this.schedule();
    }, Math.round(left));
    return true;
  }

  /**
   * Without this timer, items waiting behind a slow batch would leave only when another item arrives. `schedule` sets
   * it again if it fired too early.
   */
  private lookAgain(milliseconds: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.schedule();
    }, Math.ceil(milliseconds));
  }

  private run(batch: readonly Waiting<Item, Result>[], turn: BatchTurn | undefined): void {
    const first = batch[0]?.lane;
    const suspect = this.suspects.has(first);
    const startedAt = performance.now();
    this.underWay.push(batch);
    if (suspect) this.suspectsUnderWay += 1;
    this.lastStart = startedAt;
    this.lastItems = batch.length;
    clearTimeout(this.gathering);
    this.gathering = undefined;
    for (const { lane } of batch) if (lane !== undefined) this.busyLanes.add(lane);
    this.countGroup(batch[0]?.group, 1);
    const ended = this.options.run(batch.map(({ item }) => item)).then(
      (results) => this.settle(batch, results),
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
    void ended.then(() => {
      this.underWay.splice(this.underWay.indexOf(batch), 1);
      this.lastEnd = performance.now();
      if (suspect) this.suspectsUnderWay -= 1;
      if (suspect && this.lastEnd - startedAt < clearedMs) this.suspects.delete(first);
      for (const { lane } of batch) if (lane !== undefined) this.busyLanes.delete(lane);
      this.countGroup(batch[0]?.group, -1);
      turn?.end();
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

  /** The next batch in order of arrival: the items of one suspect lane, or those of all lanes that are not suspect. */
  private takeBatch(): readonly Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = [];
    const rest: Waiting<Item, Result>[] = [];
    let bytes = 0;
    for (const each of this.waiting) {
      const full = batch.length >= maxBatchItems || bytes >= maxBatchBytes;
      if (full || !this.fits(each, batch[0])) rest.push(each);
      else {
        batch.push(each);
        bytes += this.options.size(each.item);
      }
    }
    this.waiting = rest;
    return batch;
  }

  private countGroup(group: object | undefined, change: 1 | -1): void {
    if (group !== undefined) this.busyGroups.set(group, (this.busyGroups.get(group) ?? 0) + change);
  }

  private fits({ lane, group }: Waiting<Item, Result>, first: Waiting<Item, Result> | undefined): boolean {
    if (group !== undefined && !this.fitsGroup(group, first)) return false;
    if (lane !== undefined && this.busyLanes.has(lane)) return false;
    if (first !== undefined && this.suspects.has(first.lane)) return lane === first.lane;
    return !this.suspects.has(lane) || (first === undefined && this.suspectsUnderWay < maxSuspectBatches);
  }

  private fitsGroup(group: object, first: Waiting<Item, Result> | undefined): boolean {
    return first === undefined ? (this.busyGroups.get(group) ?? 0) < maxOfGroup : group === first.group;
  }
}
