import { LiveList } from '../../domain/shared/live-list.ts';

/** How often deadlines are checked: timeouts are in seconds, so a tenth of a second is exact enough. */
const sweepMs = 100;

export interface Timed {
  /** On the clock of `performance.now`, which is unaffected when the wall clock is set (rule 38.11). */
  deadlineAt: number;
  /** An end that applies if it is sooner. Unlike `deadlineAt`, it may be moved later. */
  readonly endAt: number;
  expire(): void;
}

/** One timer for all calls in flight, instead of one for each. It is stopped while there are none. */
export class Deadlines {
  private readonly calls = new LiveList<Timed>();
  private timer: NodeJS.Timeout | undefined;
  private lastAt = Number.POSITIVE_INFINITY;

  /** Returns a function that removes the call again. */
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

  /** From now on no call lasts longer than this, including calls that are added later. */
  endAll(withinMs: number): void {
    this.lastAt = performance.now() + withinMs;
    for (const call of this.calls.values()) call.deadlineAt = Math.min(call.deadlineAt, this.lastAt);
  }

  private sweep(): void {
    const now = performance.now();
    for (const call of this.calls.values()) if (Math.min(call.deadlineAt, call.endAt) <= now) call.expire();
  }
}
