import { setTimeout as sleep } from 'node:timers/promises';
import { endMs } from './process-control.ts';

/**
 * What happens when in the end, counted from the cut of what is still in flight. Each step leaves room for the next,
 * and nothing that hangs takes the time of what comes after it.
 */
export const shutdownSteps = {
  /** Upstreams that are read on for their usage, because a hard budget wants it, are left. */
  upstreamsMs: 5000,
  /** Callers have the error that says that they are cut off, those of such an upstream too. */
  toldMs: 6000,
  /** What may wait in the journal waits for the database no longer. */
  lastCallMs: 8000,
  /** Whatever is not settled by now will not be. */
  settledMs: 10_000,
  /** Background work, pools and exports are left as they are. */
  releasedMs: 14_000,
  endMs,
} as const;

type Steps = Readonly<Record<keyof typeof shutdownSteps, number>>;

/** What a process that is to end has in flight, and how it lets go of it. */
export interface ShutdownPorts {
  readonly inFlight: () => number;
  readonly graceMs: number;
  /** A second request to stop: no more grace. */
  readonly forced: Promise<void>;
  /** Tells callers that they are cut off. */
  readonly tell: () => void;
  /** Ends every connection of callers. */
  readonly cut: () => void;
  readonly endUpstreams: (withinMs: number) => void;
  readonly lastCall: () => void;
  /** Closes everything, in order, until then (milliseconds from now). */
  readonly release: (withinMs: number) => Promise<void>;
}

/**
 * What is in flight gets its grace; then its callers get an error, it is cut off and settled, and everything is closed:
 * all of it within the grace and `endMs`. Resolves with the number of requests that could not be settled.
 */
export async function shutDown(parts: ShutdownPorts, steps: Steps = shutdownSteps): Promise<number> {
  const { inFlight, graceMs, forced, tell, cut, endUpstreams, lastCall, release } = parts;
  let hurry = false;
  void forced.then(() => {
    hurry = true;
  });
  const idle = (): boolean => inFlight() === 0;
  await until(() => hurry || idle(), graceMs);
  const cutAt = performance.now();
  const left = (step: number): number => Math.max(0, cutAt + step - performance.now());
  tell();
  endUpstreams(steps.upstreamsMs);
  await until(idle, left(steps.toldMs));
  cut();
  await until(idle, left(steps.lastCallMs));
  // A step and no timer, because a process that was held up must not come to its end without it.
  if (!idle()) lastCall();
  await until(idle, left(steps.settledMs));
  const unsettled = inFlight();
  await within(left(steps.releasedMs), release(left(steps.releasedMs)));
  return unsettled;
}

/** What of the work is not done by then goes on by itself, and is not waited for. */
export const within = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
  const timer = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: timer.signal, ref: true }).catch(() => undefined);
  await Promise.race([work, late]).finally(() => timer.abort());
};

async function until(done: () => boolean, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!done() && performance.now() < deadline) await sleep(20);
}
