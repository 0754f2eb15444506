import type { CallerLink, CallerLoss } from './model-request.ts';
import type { ServePolicy } from './serve-ports.ts';
import type { UpstreamExecution } from './ports/upstream.ts';

/** A bounded number of slots for draining upstream streams after a client disconnect, so that their usage is known. */
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

/** Tracks whether the caller was lost before its answer was complete, and when the upstream call ends. */
export interface ClientDisconnect {
  /** Why the caller does not get the answer: it disconnected, or was cut off, before the answer was complete. */
  readonly early: () => CallerLoss | undefined;
  /**
   * The answer is complete, or has reported its failure, so a disconnect from now on loses nothing. True when this is
   * new, and the caller is still there.
   */
  readonly answered: () => boolean;
  /**
   * The answer was not complete after all, so a disconnect since it seemed to be was early. True when the upstream call
   * may go on.
   */
  readonly goesOn: () => boolean;
  /** The upstream call has ended. */
  readonly over: () => void;
}

/**
 * When the client disconnects early, or is cut off, cancels the upstream call, or leaves it to be drained for a bounded
 * time.
 */
export function watchClientDisconnect(
  link: CallerLink,
  execution: UpstreamExecution,
  slots: DrainSlots | undefined,
  policy: ServePolicy,
): ClientDisconnect {
  let state: 'open' | 'answered' | 'draining' | 'left' | 'over' = 'open';
  let early: CallerLoss | undefined;
  const leave = (why: CallerLoss): boolean => {
    early = why;
    const drains = slots?.take() === true;
    state = drains ? 'draining' : 'left';
    if (drains) execution.cancelWithin(policy.drainTimeoutMs);
    else execution.cancel();
    return drains;
  };
  link.whenLost((why) => {
    if (state === 'open') leave(why);
  });
  return {
    early: () => early,
    answered: () => {
      if (state !== 'open') return false;
      state = 'answered';
      return true;
    },
    goesOn: () => {
      if (state !== 'answered') return false;
      state = 'open';
      const lost = link.lost();
      return lost === undefined || leave(lost);
    },
    over: () => {
      if (state === 'draining') slots?.free();
      state = 'over';
    },
  };
}
