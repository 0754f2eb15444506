import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamChunk, StreamEnd, StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Ending, Run } from '../../domain/shared/stream-machine.ts';

/** Bytes taken from the upstream ahead of the caller before it is paused: a few network chunks. */
const readAheadBytes = 256 * 1024;

/** Takes chunks; a promise says that there is no room for more until it resolves. */
export type Pass = (chunks: readonly StreamChunk<JsonObject>[]) => Promise<void> | undefined;

interface Valve {
  readonly pause: () => void;
  readonly resume: () => void;
  /** The last event of the stream was passed on; nothing that still comes is read. */
  readonly ended: (end: StreamEnd<JsonObject>) => void;
}

/**
 * Drives a stream's machine with the bytes as they come, and hands its chunks on within the same turn of the event
 * loop: no queue and no promise per chunk. Only when the caller is slower than the upstream are bytes kept, and the
 * upstream is paused.
 */
export class Forwarding {
  private readonly run: Run<Buffer, StreamEvent<JsonObject>>;
  private readonly valve: Valve;
  private readonly lastEvent = Promise.withResolvers<StreamEnd<JsonObject>>();
  private pass: Pass | undefined;
  private kept: Buffer[] = [];
  private keptBytes = 0;
  private ending: Ending | undefined;
  private waiting = false;
  private held = false;
  private over = false;

  constructor(run: Run<Buffer, StreamEvent<JsonObject>>, valve: Valve) {
    this.run = run;
    this.valve = valve;
  }

  /** Begins to hand chunks on; resolves with what ends the stream. */
  forward(pass: Pass): Promise<StreamEnd<JsonObject>> {
    this.pass = pass;
    this.catchUp();
    return this.lastEvent.promise;
  }

  push(bytes: Buffer): void {
    if (this.over) return;
    if (this.pass !== undefined && !this.waiting) return this.take(this.run.push(bytes));
    this.kept.push(bytes);
    this.keptBytes += bytes.length;
    if (this.keptBytes > readAheadBytes) this.hold();
  }

  end(ending: Ending): void {
    this.ending ??= ending;
    if (this.pass !== undefined && !this.waiting) this.catchUp();
  }

  private catchUp(): void {
    const kept = this.kept;
    this.kept = [];
    this.keptBytes = 0;
    for (const [index, bytes] of kept.entries()) {
      if (this.over) return;
      if (this.waiting) {
        this.kept.push(...kept.slice(index));
        return;
      }
      this.take(this.run.push(bytes));
    }
    if (this.waiting || this.over) return;
    if (this.ending !== undefined) return this.take(this.run.end(this.ending));
    if (this.held) this.valve.resume();
    this.held = false;
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
    this.waiting = true;
    this.hold();
    void room.then(() => {
      this.waiting = false;
      this.catchUp();
    });
  }

  private close(end: StreamEnd<JsonObject>): void {
    this.over = true;
    this.lastEvent.resolve(end);
    this.valve.ended(end);
  }

  private hold(): void {
    if (!this.held) this.valve.pause();
    this.held = true;
  }
}
