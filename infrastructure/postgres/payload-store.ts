import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { KeptPayload, Payloads } from '../../application/ports/payloads.ts';
import { integer } from './codecs.ts';
import { databaseFault } from './database-fault.ts';
import { row } from './pool.ts';
import { storedJson } from './stored-text.ts';
import { withinTime } from './within-time.ts';

export interface PayloadStoreOptions {
  /** Told of each failed statement. */
  readonly onFault: (error: unknown) => void;
  /** Told of a payload that could not be made: nobody else would hear of it. */
  readonly onDefect: (error: unknown) => void;
}

/** What a process keeps and does not keep of payloads, since its start. */
export interface PayloadCounts {
  readonly kept: number;
  /** For which there was no room, or no database. */
  readonly shed: number;
  /** Bytes of UTF-8 that wait to be written: the text of no payload takes more of memory. */
  readonly queuedBytes: number;
}

export interface PayloadStore extends Payloads {
  readonly counts: () => PayloadCounts;
  /** Writes what waits; gives up after so many milliseconds. */
  readonly close: (withinMs: number) => Promise<void>;
}

/**
 * Bytes of redacted payloads that wait for the database: some hundred of the largest, tens of thousands of small ones.
 * Beyond it payload bodies are shed, and counted.
 */
export const maxQueuedBytes = 32 * 1024 * 1024;
/** Requests whose payload is still to be made: those of one turn under the highest load. */
const maxToMake = 4000;
/**
 * Payloads are made for so long in one turn of the event loop, and one in any case: redaction never holds up answers
 * for longer, and keeps up with as many requests as the process can serve.
 */
const makingMs = 3;
/** Rows and bytes of one statement. */
const maxBatchItems = 200;
const maxBatchBytes = 4 * 1024 * 1024;
/** A payload waits this long for company: nobody waits for it, and a statement for many is cheaper. */
const gatherMs = 20;

interface Printed {
  readonly item: string;
  readonly bytes: number;
}

/** Payloads in a bounded write-behind queue, in statements that many requests share; one at a time. */
export function payloadStore(pool: DatabasePool, options: PayloadStoreOptions): PayloadStore {
  const writer = new PayloadWriter(pool, options);
  return {
    keep: (requestLogId, make) => writer.keep(requestLogId, make),
    counts: () => writer.counts(),
    close: (withinMs) => writer.close(withinMs),
  };
}

class PayloadWriter {
  private readonly pool: DatabasePool;
  private readonly options: PayloadStoreOptions;
  private toMake: { readonly requestLogId: string; readonly make: () => KeptPayload }[] = [];
  private queue: Printed[] = [];
  private queuedBytes = 0;
  private kept = 0;
  private shed = 0;
  private making = false;
  private writing: Promise<void> | undefined;

  constructor(pool: DatabasePool, options: PayloadStoreOptions) {
    this.pool = pool;
    this.options = options;
  }

  counts(): PayloadCounts {
    return { kept: this.kept, shed: this.shed, queuedBytes: this.queuedBytes };
  }

  keep(requestLogId: string, make: () => KeptPayload): void {
    if (this.queuedBytes >= maxQueuedBytes || this.toMake.length >= maxToMake) {
      this.shed += 1;
      return;
    }
    this.toMake.push({ requestLogId, make });
    this.makeSoon();
  }

  async close(withinMs: number): Promise<void> {
    const deadline = Date.now() + withinMs;
    while ((this.toMake.length > 0 || this.writing !== undefined) && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 10));
    this.shed += this.toMake.length + this.queue.length;
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
      this.writing ??= this.write();
    });
  }

  /** The bound holds for what is made, too: many requests may have ended since the last look at it. */
  private makeNext(): void {
    const next = this.toMake.shift();
    if (next === undefined) return;
    if (this.queuedBytes >= maxQueuedBytes) {
      this.shed += 1;
      return;
    }
    try {
      this.take(next.requestLogId, next.make());
    } catch (error) {
      this.shed += 1;
      this.options.onDefect(error);
    }
  }

  private take(requestLogId: string, { request, response }: KeptPayload): void {
    const item = storedJson({
      request_log_id: requestLogId,
      request_json: request.json,
      response_json: response.json,
      request_truncated: request.truncated,
      response_truncated: response.truncated,
    });
    const bytes = Buffer.byteLength(item);
    this.queue.push({ item, bytes });
    this.queuedBytes += bytes;
  }

  private async write(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, gatherMs));
    for (let batch = this.batch(); batch.length > 0; batch = this.batch()) {
      await this.writeBatch(batch);
      for (const { bytes } of batch) this.queuedBytes -= bytes;
    }
    this.writing = undefined;
  }

  private async writeBatch(batch: readonly Printed[]): Promise<void> {
    try {
      const kept = await this.insert(batch);
      this.kept += kept;
      this.shed += batch.length - kept;
    } catch (error) {
      this.options.onFault(error);
      // One bad payload must not take the others with it; a database in trouble is not asked again.
      if (batch.length > 1 && databaseFault(error) === 'refused')
        for (const each of batch) await this.writeBatch([each]);
      else this.shed += batch.length;
    }
  }

  private insert(batch: readonly Printed[]): Promise<number> {
    const last = batch.length - 1;
    // The brackets go to the items: put around the whole, they would make a second copy of it.
    const items = batch
      .map(({ item }, index) => `${index === 0 ? '[' : ''}${item}${index === last ? ']' : ''}`)
      .join();
    const statement = sql.type(row(keptRow))`select gateway_keep_payloads(${items}::json) as kept`;
    return withinTime(this.pool, async (connection) => Number((await connection.one(statement)).kept));
  }

  private batch(): readonly Printed[] {
    let bytes = 0;
    let items = 0;
    for (const each of this.queue) {
      if (items >= maxBatchItems || bytes >= maxBatchBytes) break;
      items += 1;
      bytes += each.bytes;
    }
    return this.queue.splice(0, items);
  }
}

const keptRow = t.type({ kept: integer });
