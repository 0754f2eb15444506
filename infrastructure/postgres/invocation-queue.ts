import { setTimeout as sleep } from 'node:timers/promises';
import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { InvocationQueue, InvocationRecord } from '../../application/ports/mcp-invocations.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import type { StoredPayload } from '../../domain/payload/payload.ts';
import { maxMcpNameChars } from '../../domain/shared/limits.ts';
import { int8 } from './codecs.ts';
import { databaseFault } from './database-fault.ts';
import { row } from './pool.ts';
import { storedJson, storedPrint } from './stored-text.ts';
import { withinTime } from './within-time.ts';

export interface InvocationQueueOptions {
  /** Called for each failed statement. */
  readonly onFault: (error: unknown) => void;
  /** Called for a record that could not be built. */
  readonly onDefect: (error: unknown) => void;
}

/** Counts of recorded and dropped tool calls since the process started. */
export interface InvocationCounts {
  readonly kept: number;
  /** Dropped for lack of room, or of a database. */
  readonly shed: number;
}

export interface InvocationWriter extends InvocationQueue {
  readonly counts: () => InvocationCounts;
  /** Waits until everything queued is written, at most this many milliseconds. */
  readonly close: (withinMs: number) => Promise<void>;
}

/**
 * Limit of queued bytes, for records with their arguments and results: a few thousand calls with full ones. Above half
 * of it, arguments and results are left out.
 */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Bytes of a record without its arguments and result. */
const bytesOfRecord = 2048;
/** How long records are built in one turn of the event loop; at least one is built. */
const makingMs = 3;
/** Characters of one statement. */
const batchChars = 512 * 1024;
/** How long a record waits for others to share its statement. */
const gatherMs = 20;
/** How often queued records are retried while the database is away. */
const retryMs = 1000;

interface Waiting {
  readonly make: () => InvocationRecord;
  readonly bytes: number;
}

/** A bounded write-behind queue of tool call records, in statements that many calls share, one at a time. */
export function invocationQueue(pool: DatabasePool, options: InvocationQueueOptions): InvocationWriter {
  const writer = new Writer(pool, options);
  return {
    add: (make, heldBytes) => writer.add(make, heldBytes),
    counts: () => writer.counts(),
    close: (withinMs) => writer.close(withinMs),
  };
}

class Writer {
  private readonly pool: DatabasePool;
  private readonly options: InvocationQueueOptions;
  private waiting: Waiting[] = [];
  private bytes = 0;
  private kept = 0;
  private shed = 0;
  private writing: Promise<void> | undefined;
  private closing = false;

  constructor(pool: DatabasePool, options: InvocationQueueOptions) {
    this.pool = pool;
    this.options = options;
  }

  counts(): InvocationCounts {
    return { kept: this.kept, shed: this.shed };
  }

  add(make: (isWhole: boolean) => InvocationRecord, heldBytes: number): void {
    const isWhole = this.bytes + heldBytes <= maxWaitingBytes / 2;
    const bytes = bytesOfRecord + (isWhole ? heldBytes : 0);
    if (this.bytes + bytes > maxWaitingBytes) {
      this.shed += 1;
      return;
    }
    this.bytes += bytes;
    this.waiting.push({ make: () => make(isWhole), bytes });
    this.writing ??= this.write();
  }

  async close(withinMs: number): Promise<void> {
    this.closing = true;
    await Promise.race([this.writing, sleep(withinMs, undefined, { ref: false })]);
  }

  private async write(): Promise<void> {
    await sleep(gatherMs);
    while (this.waiting.length > 0) {
      const { items, taken } = await this.nextBatch();
      await this.keep(items);
      this.bytes -= taken.reduce((sum, { bytes }) => sum + bytes, 0);
    }
    this.writing = undefined;
  }

  /** Builds records in turns of the event loop of its own, so that callers never wait for the redaction of many. */
  private async nextBatch() {
    const items: string[] = [];
    const taken: Waiting[] = [];
    let chars = 0;
    let until = performance.now() + makingMs;
    while (chars < batchChars) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      taken.push(next);
      const item = this.made(next);
      if (item !== undefined) items.push(item);
      chars += item?.length ?? 0;
      if (performance.now() < until) continue;
      await new Promise((resolve) => setImmediate(resolve));
      until = performance.now() + makingMs;
    }
    return { items, taken };
  }

  private made({ make }: Waiting): string | undefined {
    try {
      return itemOf(make());
    } catch (error) {
      this.shed += 1;
      this.options.onDefect(error);
      return undefined;
    }
  }

  private async keep(items: readonly string[]): Promise<void> {
    if (items.length === 0) return;
    for (;;) {
      const fault = await this.insert(items);
      if (fault === undefined) return;
      // One bad record must not take the others with it; a database that is away is tried again.
      if (databaseFault(fault) === 'refused') return this.keepEach(items);
      if (this.closing) {
        this.shed += items.length;
        return;
      }
      await sleep(retryMs);
    }
  }

  private async keepEach(items: readonly string[]): Promise<void> {
    if (items.length === 1) this.shed += 1;
    else for (const item of items) if ((await this.insert([item])) !== undefined) this.shed += 1;
  }

  /** Returns the error, or `undefined` on success. */
  private async insert(items: readonly string[]): Promise<unknown> {
    const batch = Buffer.from(`[${items.join(',')}]`);
    const statement = sql.type(
      row(keptRow),
    )`select gateway_keep_invocations(${sql.binary(batch)}::json) as kept`;
    try {
      await withinTime(this.pool, (connection) => connection.one(statement));
      this.kept += items.length;
      return undefined;
    } catch (error) {
      this.options.onFault(error);
      return error;
    }
  }
}

const keptRow = t.type({ kept: int8 });

function itemOf({ payload, ...record }: InvocationRecord): string {
  const { server, tool } = record;
  const columns = storedJson({
    mcp_tool_invocation_id: record.invocationId,
    request_id: record.requestId,
    request_log_id: record.requestLogId ?? null,
    api_key_id: record.apiKeyId ?? null,
    ...ownerColumns(record.owner),
    server_id: bounded(server.id),
    server_display_name: boundedOrNull(server.displayName),
    tool_id: bounded(tool.id),
    tool_display_name: boundedOrNull(tool.displayName),
    status: record.status,
    policy_result: record.policyResult,
    latency_ms: record.latencyMs,
    error_code: boundedOrNull(record.errorCode),
    arguments_truncated: payload.arguments?.truncated ?? false,
    result_truncated: payload.result?.truncated ?? false,
  });
  return `${columns.slice(0, -1)},"arguments_json":${jsonOf(payload.arguments)},"result_json":${jsonOf(payload.result)}}`;
}

const ownerColumns = (owner: Owner | undefined) => ({
  user_id: owner?.kind === 'user' ? owner.userId : null,
  team_id: owner?.kind === 'team' ? owner.teamId : null,
  owner_kind: owner?.kind ?? null,
});

const bounded = (name: string): string => name.slice(0, maxMcpNameChars);

const boundedOrNull = (name: string | undefined): string | null =>
  name === undefined ? null : bounded(name);

const jsonOf = (payload: StoredPayload | undefined): string =>
  payload === undefined ? 'null' : `[${storedPrint(payload.text)}]`;
