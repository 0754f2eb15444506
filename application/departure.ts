import type { ServePolicy, CallerLink } from './model-request.ts';
import type { UpstreamExecution } from './ports/upstream.ts';

/** Keeps reading upstream after the caller left, so that usage is known; only so many at once. */
export function drainSlots(max: () => number) {
  let taken = 0;
  return {
    take: (): boolean => {
      if (taken >= max()) return false;
      taken += 1;
      return true;
    },
    free: (): void => {
      taken -= 1;
    },
  };
}

export type DrainSlots = ReturnType<typeof drainSlots>;

/** What happens when the caller leaves. */
export interface Departure {
  /** The caller left before the answer was complete. */
  readonly early: () => boolean;
  /** The answer is complete, or has told its own failure: from now on leaving is not early. True the first time. */
  readonly answered: () => boolean;
  /** The upstream call has ended. */
  readonly over: () => void;
}

/** A caller that leaves early cancels the upstream call, or leaves it to be drained for a bounded time. */
export function watchDeparture(
  link: CallerLink,
  execution: UpstreamExecution,
  slots: DrainSlots | undefined,
  policy: ServePolicy,
): Departure {
  let state: 'open' | 'answered' | 'draining' | 'left' | 'over' = 'open';
  let early = false;
  link.whenGone(() => {
    if (state !== 'open') return;
    early = true;
    if (slots?.take() === true) {
      state = 'draining';
      execution.cancelWithin(policy.drainTimeoutMs);
    } else {
      state = 'left';
      execution.cancel();
    }
  });
  return {
    early: () => early,
    answered: () => {
      if (state !== 'open') return false;
      state = 'answered';
      return true;
    },
    over: () => {
      if (state === 'draining') slots?.free();
      state = 'over';
    },
  };
}
