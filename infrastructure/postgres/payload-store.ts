import * as t from 'io-ts';
import type { HeldByPayload, KeptPayload, PayloadOf, Payloads } from '../../application/ports/payloads.ts';
import { int8 } from './codecs.ts';
import { databaseFault } from './database-fault.ts';
import type { LedgerPlace, LedgerPlaces } from './ledger-place.ts';
import { PayloadBatch, storedPayload } from './payload-batch.ts';
import { prepared } from './prepared.ts';

export interface PayloadStoreOptions {
  /** Called for each failed statement. */
  readonly onFault: (error: unknown) => void;
  /** Called for a payload that could not be made: its request has ended, so nobody waits for it. */
  readonly onDefect: (error: unknown) => void;
}

/** Counts of stored and dropped payloads since the process started. */
export interface PayloadCounts {
  readonly kept: number;
  /** Dropped for lack of room, or of a database. */
  readonly shed: number;
  /** Bytes that wait to be written. */
  readonly queuedBytes: number;
}

export interface PayloadStore extends Payloads {
  readonly counts: () => PayloadCounts;
  /** Waits until everything queued is written, at most this many milliseconds. */
  readonly close: (withinMs: number) => Promise<void>;
}

/**
 * Bytes of redacted payloads that may wait for the database: some hundred of the largest, tens of thousands of small
 * ones. Further payload bodies are shed and counted. The buffers that they wait in take at most twice as much, because
 * a batch is closed when the next payload does not fit.
 */
export const maxQueuedBytes = 32 * 1024 * 1024;
/**
 * Bytes of requests and answers that are kept until their payloads are made, plus `bytesOfEntry` for each: as many as
 * arrive in one turn of the event loop under the highest load, or a few of the largest bodies.
 */
const maxHeldBytes = 64 * 1024 * 1024;
const bytesOfEntry = 16 * 1024;
/**
 * How long payloads are made in one turn of the event loop; at least one is made. Redaction never delays answers for
 * longer, and still keeps up with as many requests as the process can serve.
 */
const makingMs = 3;
/** Bytes of one statement: some two thousand of the smallest payloads. A larger payload has a statement of its own. */
const batchBytes = 512 * 1024;
/**
 * Batch buffers kept for reuse: two for the batch being sent, two for the batch being filled. Each new buffer outside
 * the heap brings the next full garbage collection nearer.
 */
const maxSpare = 4;
/**
 * How long a payload waits for others to share its statement, unless they fill one earlier. Starting and committing a
 * statement costs as much as several payloads, and nobody waits for a payload.
 */
const gatherMs = 100;

/** A bounded write-behind queue of payloads. Many requests share a statement; each place has one at a time. */
export function payloadStore(placeOf: LedgerPlaces, options: PayloadStoreOptions): PayloadStore {
  const writer = new PayloadWriter(placeOf, options);
  return {
    keep: (of, make, held) => writer.keep(of, make, held),
    counts: () => writer.counts(),
    close: (withinMs) => writer.close(withinMs),
  };
}

interface ToMake {
  readonly of: PayloadOf;
  readonly make: () => KeptPayload | Promise<KeptPayload>;
  readonly release: () => void;
}

const holdsNothing: HeldByPayload = { bytes: 0, release: () => undefined };

class PayloadWriter {
  private readonly placeOf: LedgerPlaces;
  private readonly options: PayloadStoreOptions;
  private toMake: ToMake[] = [];
  private heldBytes = 0;
  private beingMade = 0;
  private readonly full: PayloadBatch[] = [];
  private filling: PayloadBatch | undefined;
  private readonly spare: Buffer[] = [];
  private queuedBytes = 0;
  private kept = 0;
  private shed = 0;
  private making = false;
  private writing = false;
  private endOfGathering: (() => void) | undefined;
  private closing = false;

  constructor(placeOf: LedgerPlaces, options: PayloadStoreOptions) {
    this.placeOf = placeOf;
    this.options = options;
  }

  counts(): PayloadCounts {
    return { kept: this.kept, shed: this.shed, queuedBytes: this.queuedBytes };
  }

  keep(of: PayloadOf, make: ToMake['make'], held: HeldByPayload = holdsNothing): void {
    const bytes = held.bytes + bytesOfEntry;
    // A payload is never too large while nothing else is held: its bodies were within the limits of the HTTP layer.
    const full = this.heldBytes > 0 && this.heldBytes + bytes > maxHeldBytes;
    if (full || this.queuedBytes >= maxQueuedBytes) {
      this.shed += 1;
      held.release();
      return;
    }
    this.heldBytes += bytes;
    const release = (): void => {
      this.heldBytes -= bytes;
      held.release();
    };
    this.toMake.push({ of, make, release });
    this.makeSoon();
  }

  async close(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    this.closing = true;
    this.endOfGathering?.();
    while ((this.isMaking() || this.writing) && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 10));
    this.shed += this.toMake.length + this.beingMade + this.waiting();
  }

  private isMaking(): boolean {
    return this.toMake.length > 0 || this.beingMade > 0;
  }

  private waiting(): number {
    return [...this.full, ...(this.filling === undefined ? [] : [this.filling])].reduce(
      (sum, { places }) => sum + places.length,
      0,
    );
  }

  private makeSoon(): void {
    if (this.making) return;
    this.making = true;
    setImmediate(() => {
      this.making = false;
      const until = performance.now() + makingMs;
      do this.makeNext();
      while (this.toMake.length > 0 && performance.now() < until);
      if (this.toMake.length > 0) this.makeSoon();
      void this.write();
    });
  }

  /** The limit is checked again here, because many requests may have ended since it was last checked. */
  private makeNext(): void {
    const next = this.toMake.shift();
    if (next === undefined) return;
    if (this.queuedBytes >= maxQueuedBytes) {
      this.shed += 1;
      next.release();
      return;
    }
    try {
      const made = next.make();
      if (made instanceof Promise) {
        void this.takeLater(next, made);
        return;
      }
      this.take(next.of, made);
      next.release();
    } catch (error) {
      this.notMade(next, error);
    }
  }

  /** Takes a payload that is made in the worker thread; the others do not wait for it. */
  private async takeLater(next: ToMake, made: Promise<KeptPayload>): Promise<void> {
    this.beingMade += 1;
    try {
      this.take(next.of, await made);
      next.release();
      void this.write();
    } catch (error) {
      this.notMade(next, error);
    } finally {
      this.beingMade -= 1;
    }
  }

  private notMade({ release }: ToMake, error: unknown): void {
    this.shed += 1;
    release();
    this.options.onDefect(error);
  }

  private take({ requestLogId, scope }: PayloadOf, payload: KeptPayload): void {
    const stored = storedPayload(payload);
    if (this.filling?.hasRoomFor(stored) === false) {
      this.full.push(this.filling);
      this.filling = undefined;
      this.endOfGathering?.();
    }
    this.filling ??= new PayloadBatch(stored, (bytes) => this.roomFor(bytes));
    const before = this.filling.size;
    this.filling.add(requestLogId, stored, this.placeOf(scope));
    this.queuedBytes += this.filling.size - before;
  }

  private roomFor(bytes: number): Buffer {
    return bytes > batchBytes
      ? Buffer.allocUnsafe(bytes)
      : (this.spare.pop() ?? Buffer.allocUnsafe(batchBytes));
  }

  private giveBack(room: Buffer): void {
    if (room.length === batchBytes && this.spare.length < maxSpare) this.spare.push(room);
  }

  private async write(): Promise<void> {
    if (this.writing) return;
    this.writing = true;
    while (this.full.length > 0 || this.filling !== undefined) {
      if (this.full.length === 0) await this.gathering();
      const batch = this.next();
      if (batch === undefined) continue;
      if (await this.writeBatch(batch)) for (const room of batch.rooms()) this.giveBack(room);
      this.queuedBytes -= batch.size;
    }
    this.writing = false;
  }

  private async gathering(): Promise<void> {
    if (this.closing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, gatherMs);
    this.endOfGathering = resolve;
    await promise;
    clearTimeout(timer);
    this.endOfGathering = undefined;
  }

  private next(): PayloadBatch | undefined {
    const full = this.full.shift();
    if (full !== undefined) return full;
    const { filling } = this;
    this.filling = undefined;
    return filling;
  }

  /** Returns true if the database has answered and reads no more of the batch, so that its buffers may be reused. */
  private async writeBatch(batch: PayloadBatch): Promise<boolean> {
    const written: Promise<boolean>[] = [];
    for (const [place, entries] of Map.groupBy(batch.places.entries(), ([, each]) => each)) {
      const indexes = entries.map(([index]) => index);
      written.push(this.writeTo(place, batch, indexes));
    }
    return (await Promise.all(written)).every(Boolean);
  }

  private async writeTo(
    place: LedgerPlace,
    batch: PayloadBatch,
    indexes: readonly number[],
  ): Promise<boolean> {
    const fault = await this.insert(place, batch, indexes);
    if (fault === undefined) return true;
    // One bad payload must not take the others with it. A database that is away or too busy is not tried again.
    if (indexes.length > 1 && databaseFault(fault) === 'refused')
      for (const index of indexes)
        this.shed += (await this.insert(place, batch, [index])) === undefined ? 0 : 1;
    else this.shed += indexes.length;
    return false;
  }

  /** Returns the error, or `undefined` on success. */
  private async insert(
    place: LedgerPlace,
    batch: PayloadBatch,
    indexes: readonly number[],
  ): Promise<unknown> {
    try {
      const kept = Number((await keepPayloads.row(place, batch.values(indexes))).kept);
      this.kept += kept;
      this.shed += indexes.length - kept;
      return undefined;
    } catch (error) {
      this.options.onFault(error);
      return error;
    }
  }
}

const keepPayloads = prepared(
  t.type({ kept: int8 }),
  { kept: 'int8' },
  (named) =>
    `select ${named('gateway_keep_bodies')}($1::uuid[], $2::json[], $3::json[], $4::boolean[], $5::boolean[]) as kept`,
);
