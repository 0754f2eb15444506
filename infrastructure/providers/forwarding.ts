import type { Hold } from '../../application/ports/upstream.ts';
import { addFragment } from '../../domain/shared/fragments.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { maxTurnBytes } from '../../domain/shared/limits.ts';
import type { StreamChunk, StreamEnd, StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Ending, Run } from '../../domain/shared/stream-machine.ts';

/** Bytes buffered ahead of the caller before the upstream is paused: a few network chunks. */
const readAheadBytes = 256 * 1024;

/** An unfinished event of up to this many bytes is not counted: nearly all events are smaller, and cost no counting. */
const uncountedBytes = 64 * 1024;

/** Takes chunks. A returned promise means that there is no room for more until it resolves. */
export type Pass = (chunks: readonly StreamChunk<JsonObject>[]) => Promise<void> | undefined;

interface Valve {
  readonly pause: () => void;
  readonly resume: () => void;
  /** The last event of the stream was passed on. Nothing that still arrives is read. */
  readonly ended: (end: StreamEnd<JsonObject>) => void;
}

/**
 * Drives a stream's machine with the bytes as they arrive, and hands its chunks on within the same turn of the event
 * loop, without a queue or a promise per chunk. Bytes are buffered, and the upstream is paused, only while the caller
 * is slower than the upstream, and for a turn after each `maxTurnBytes` (rule 35.54).
 */
export class Forwarding {
  private readonly run: Run<Buffer, StreamEvent<JsonObject>>;
  private readonly valve: Valve;
  private readonly lastEvent = Promise.withResolvers<StreamEnd<JsonObject>>();
  private pass: Pass | undefined;
  private hold: Hold = () => undefined;
  private counted = 0;
  private kept: Uint8Array[] = [];
  private keptBytes = 0;
  private ending: Ending | undefined;
  /** Since when the caller has had no room. */
  private waitingSince: number | undefined;
  private waitedBefore = 0;
  private paused = false;
  /** Bytes read since the last rest. */
  private readBytes = 0;
  /** Nothing more is read in this turn of the event loop. */
  private resting = false;
  private over = false;

  constructor(run: Run<Buffer, StreamEvent<JsonObject>>, valve: Valve) {
    this.run = run;
    this.valve = valve;
  }

  /** Starts to hand chunks on. Resolves with the event that ends the stream. */
  forward(pass: Pass, hold: Hold): Promise<StreamEnd<JsonObject>> {
    this.pass = pass;
    this.hold = hold;
    this.catchUp();
    return this.lastEvent.promise;
  }

  push(bytes: Buffer): void {
    if (this.over) return;
    if (this.isReading()) return this.read(bytes);
    addFragment(this.kept, bytes);
    this.keptBytes += bytes.length;
    if (this.keptBytes > readAheadBytes) this.pause();
  }

  end(ending: Ending): void {
    this.ending = ending;
    if (this.isReading()) this.catchUp();
  }

  private isReading(): boolean {
    return this.pass !== undefined && !this.isWaiting() && !this.resting;
  }

  /** The caller has no room for more. */
  isWaiting(): boolean {
    return this.waitingSince !== undefined;
  }

  /** For how long the caller has had no room, all in all. */
  waitedMs(): number {
    const { waitingSince, waitedBefore } = this;
    return waitedBefore + (waitingSince === undefined ? 0 : performance.now() - waitingSince);
  }

  private catchUp(): void {
    const { kept } = this;
    this.kept = [];
    this.keptBytes = 0;
    // Joined first, because an upstream may send byte by byte.
    if (kept.length > 0) this.read(Buffer.concat(kept));
    if (!this.isReading() || this.over) return;
    if (this.ending !== undefined) return this.take(this.run.end(this.ending));
    const { paused } = this;
    this.paused = false;
    if (paused) this.valve.resume();
  }

  private read(bytes: Buffer): void {
    this.take(this.run.push(bytes));
    if (!this.over) this.count(this.run.holds());
    this.readBytes += bytes.length;
    if (this.readBytes > maxTurnBytes && !this.over) this.rest();
  }

  private rest(): void {
    this.readBytes = 0;
    this.resting = true;
    this.pause();
    setImmediate(() => {
      this.resting = false;
      if (this.isReading() && !this.over) this.catchUp();
    });
  }

  /** Counts the bytes of an unfinished event. The stream fails if there is no room for them. */
  private count(bytes: number): void {
    const counted = bytes > uncountedBytes ? bytes : 0;
    if (counted === this.counted) return;
    this.counted = counted;
    const error = this.hold(counted);
    if (error !== undefined) this.close({ kind: 'failed', error });
  }

  private take(events: readonly StreamEvent<JsonObject>[]): void {
    const chunks: StreamChunk<JsonObject>[] = [];
    let end: StreamEnd<JsonObject> | undefined;
    for (const event of events) {
      if (event.kind === 'chunk') chunks.push(event);
      else end = event;
    }
    const room = chunks.length === 0 ? undefined : this.pass?.(chunks);
    if (end !== undefined) return this.close(end);
    if (room === undefined) return;
    this.waitingSince = performance.now();
    this.pause();
    void room.then(() => {
      this.waitedBefore = this.waitedMs();
      this.waitingSince = undefined;
      if (this.isReading()) this.catchUp();
    });
  }

  private close(end: StreamEnd<JsonObject>): void {
    this.over = true;
    this.count(0);
    this.lastEvent.resolve(end);
    this.valve.ended(end);
  }

  private pause(): void {
    if (!this.paused) this.valve.pause();
    this.paused = true;
  }
}
