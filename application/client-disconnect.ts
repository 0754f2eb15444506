import type { CallerLink, CallerLoss } from './model-request.ts';
import type { ServePolicy } from './serve-ports.ts';
import type { UpstreamExecution } from './ports/upstream.ts';

/** Places for streams that are read on after their caller left, so that their usage is known: only so many at once. */
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

/** Whether a caller left before its answer was complete, and the call upstream with it. */
export interface ClientDisconnect {
  /** Why the caller does not get the answer, where it left or was cut off before the answer was complete. */
  readonly early: () => CallerLoss | undefined;
  /** The answer is complete, or has told its failure: whoever leaves from now on misses nothing. True the first time. */
  readonly answered: () => boolean;
  /** The answer was not complete after all. True where the caller is still there. */
  readonly goesOn: () => boolean;
  /** The upstream call has ended. */
  readonly over: () => void;
}

/** A caller that leaves early, or is cut off, cancels the upstream call, or leaves it to be drained for a bounded time. */
export function watchClientDisconnect(
  link: CallerLink,
  execution: UpstreamExecution,
  slots: DrainSlots | undefined,
  policy: ServePolicy,
): ClientDisconnect {
  let state: 'open' | 'answered' | 'draining' | 'left' | 'over' = 'open';
  let early: CallerLoss | undefined;
  link.whenLost((why) => {
    if (state === 'answered') state = 'left';
    if (state !== 'open') return;
    early = why;
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
    goesOn: () => {
      if (state !== 'answered') return false;
      state = 'open';
      return true;
    },
    over: () => {
      if (state === 'draining') slots?.free();
      state = 'over';
    },
  };
}
