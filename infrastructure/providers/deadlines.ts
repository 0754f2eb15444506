import { LiveList } from '../../domain/shared/live-list.ts';

/** How often deadlines are looked at: time-outs are in seconds, so a tenth of one is exact enough. */
const sweepMs = 100;

export interface Timed {
  /** By `performance.now`, which goes on as ever when the wall clock is set (rule 38.11). */
  deadlineAt: number;
  /** When it is taken as ended, if that is sooner; this one may be put off. */
  readonly endAt: number;
  expire(): void;
}

/** One timer for all calls in flight, instead of one for each; it stands still when there are none. */
export class Deadlines {
  private readonly calls = new LiveList<Timed>();
  private timer: NodeJS.Timeout | undefined;
  private lastAt = Number.POSITIVE_INFINITY;

  /** Returns how the call is no longer looked at. */
  add(call: Timed): () => void {
    call.deadlineAt = Math.min(call.deadlineAt, this.lastAt);
    const leave = this.calls.add(call);
    this.timer ??= setInterval(() => this.sweep(), sweepMs).unref();
    return () => {
      leave();
      if (this.calls.size > 0 || this.timer === undefined) return;
      clearInterval(this.timer);
      this.timer = undefined;
    };
  }

  /** From now on no call lasts longer than this, those that are yet to come included. */
  endAll(withinMs: number): void {
    this.lastAt = performance.now() + withinMs;
    for (const call of this.calls.values()) call.deadlineAt = Math.min(call.deadlineAt, this.lastAt);
  }

  private sweep(): void {
    const now = performance.now();
    for (const call of this.calls.values()) if (Math.min(call.deadlineAt, call.endAt) <= now) call.expire();
  }
}
