import type { BatchTurn, BatchTurns } from './batch-turns.ts';

/**
 * In place of a result: another item of the batch held this one up, so it is tried again in a batch without that one.
 */
export const putBack = Symbol('put back');

/**
 * One statement for many callers: items that arrive while earlier statements run are sent together, in the next one.
 */
export interface CollectorOptions<Item, Result> {
  /**
   * Sends a batch; results are in the order of the items. A rejection rejects every item. `putBack` is only for batches
   * of several lanes, one of which must be stuck: from then on each of these lanes has batches of its own, until one
   * of them was quick.
   */
  readonly run: (items: readonly Item[]) => Promise<readonly (Result | typeof putBack)[]>;
  /**
   * The lock that the item's statement takes. Two batches at once never have the same, as one would wait for the other.
   */
  readonly lane: (item: Item) => string | undefined;
  readonly size: (item: Item) => number;
  /** Whose items go together: a batch is of one group. Without it all do. */
  readonly group?: (item: Item) => object;
  /** Whom its batches take turns with: collectors of other servers. */
  readonly turns?: BatchTurns;
  /** The result of an item that nobody answers for; without it, it is rejected with the reason. */
  readonly unanswered?: (why: WaitedTooLong | LastCall) => Result;
}

/** Items of a batch: 50 give most of the gain in throughput, 200 all of it (rule 37.13). */
const maxBatchItems = 200;
/** Bytes of a batch, so that a statement stays small compared with the server's memory. */
const maxBatchBytes = 4 * 1024 * 1024;
/** Items of a batch that is large: the ones that come behind it are likely to be as many. */
const largeBatchItems = 4;
/** How long they are waited for: a statement costs much the same however many share it. */
const gatherMs = 2;
/** After this long a second batch starts beside the first, because a stuck lane must not hold up the others. */
const slowBatchMs = 25;
/** Batches under way at once. The other connections of the pool are for everything else. */
const maxBatches = 4;
/** Of these, batches of one group, so that the other groups keep as many. */
const maxOfGroup = 2;
/** Of these, batches of a single lane that may be stuck, so that the other lanes keep two batches. */
const maxSuspectBatches = 2;
/** An item that no batch has taken after this long is rejected, because nothing may wait without an end. */
const maxWaitMs = 10_000;
/** A suspect lane whose batch ends in this time is not stuck: it is half of the database's `lock_timeout`. */
const clearedMs = 1000;

/** No batch has taken the item in `maxWaitMs`. */
export class WaitedTooLong extends Error {}

/** The process ends, and nothing waits any longer. */
class LastCall extends Error {}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly addedAt: number;
  readonly lane: string | undefined;
  readonly group: object | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends a batch at the end of a turn of the event loop while nothing is under way, and otherwise when the batch before
 * it has ended. So batches grow with the load, and each item becomes cheaper.
 */
export class Collector<Item, Result> {
  private readonly options: CollectorOptions<Item, Result>;
  private readonly busyLanes = new Set<string>();
  /** Batches under way, by their group. */
  private readonly busyGroups = new Map<object, number>();
  /** Lanes that held up a batch, or were in one that was held up. */
  private readonly suspects = new Set<string | undefined>();
  private waiting: Waiting<Item, Result>[] = [];
  private readonly underWay: (readonly Waiting<Item, Result>[])[] = [];
  private over = false;
  private suspectsUnderWay = 0;
  private lastStart = 0;
  /** Items of the batch that began last. */
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

  /** Items that no statement has taken up yet. */
  get depth(): number {
    return this.waiting.length;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lane = this.options.lane(item);
      const group = this.options.group?.(item);
      const waiting = { item, addedAt: performance.now(), lane, group, resolve, reject };
      if (this.over) return this.leave(waiting, new LastCall('the process ends'));
      this.waiting.push(waiting);
      this.watchWait();
      this.schedule();
    });
  }

  /** The process ends: from now on nothing waits, neither for a batch nor for one that is under way. */
  lastCall(): void {
    this.over = true;
    const why = new LastCall('the process ends');
    for (const each of [...this.underWay.flat(), ...this.waiting]) this.leave(each, why);
    this.waiting = [];
  }

  private leave({ resolve, reject }: Waiting<Item, Result>, why: WaitedTooLong | LastCall): void {
    const { unanswered } = this.options;
    if (unanswered === undefined) reject(why);
    else resolve(unanswered(why));
  }

  /** One timer for all items: it rejects those that waited too long, then is set for the oldest that is left. */
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
   * Whether the waiting items, the oldest since `addedAt`, wait for more: right behind a large batch, until they are
   * three quarters as many, and not for long. Behind a small batch, or some time after a large one, they do not, so
   * that a lone request is not slower.
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
   * Without this timer, items that wait beside a slow batch would leave only when another item arrives. `schedule` sets
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

  /** The next batch, in order of arrival: the items of one suspect lane, or those of all lanes that are not suspect. */
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
