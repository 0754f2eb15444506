import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../infrastructure/logging.ts';
import { endMs, type ProcessControl } from './process-control.ts';

/**
 * The schedule of a shutdown, counted from the moment when requests still in flight are cut off. Each step leaves room
 * for the next, and a step that hangs does not take the time of those after it.
 */
export const shutdownSteps = {
  /** Upstreams that are drained for their usage, because a hard budget needs it, are abandoned. */
  upstreamsMs: 5000,
  /** Nothing waits for the database any longer: not an admission, and records that may be deferred go to the journal. */
  waitsCancelledMs: 8000,
  /**
   * Callers must have received their answer, or the error that says that they are cut off. Later than the step before,
   * because a request that waits for the database is answered only when that wait is over (rule 31.42).
   */
  announcedMs: 9000,
  /** Anything that is not settled by now will not be. */
  settledMs: 10_000,
  /** Background work, pools and exporters that are not closed are abandoned. */
  releasedMs: 14_000,
  endMs,
} as const;

type Steps = Readonly<Record<keyof typeof shutdownSteps, number>>;

/** What a process that shuts down has in flight, and how it is ended. */
export interface ShutdownPorts {
  readonly inFlight: () => number;
  readonly graceMs: number;
  /** A second request to stop: no more grace. */
  readonly forced: Promise<void>;
  /** Tells callers, with an error, that they are cut off. */
  readonly announceShutdown: () => void;
  /** Ends every connection of callers. */
  readonly cut: () => void;
  readonly endUpstreams: (withinMs: number) => void;
  readonly cancelWaits: () => void;
  /** Closes everything, in order, within that many milliseconds. */
  readonly release: (withinMs: number) => Promise<void>;
}

/**
 * Requests in flight get their grace. Then their callers get an error, they are cut off and settled, and everything is
 * closed, all within the grace and `endMs`. Resolves with the number of requests that could not be settled.
 */
export async function shutDown(parts: ShutdownPorts, steps: Steps = shutdownSteps): Promise<number> {
  const { inFlight, graceMs, forced, announceShutdown, cut, endUpstreams, cancelWaits, release } = parts;
  let hurry = false;
  void forced.then(() => {
    hurry = true;
  });
  const idle = (): boolean => inFlight() === 0;
  await until(() => hurry || idle(), graceMs);
  const cutAt = performance.now();
  const left = (step: number): number => Math.max(0, cutAt + step - performance.now());
  announceShutdown();
  endUpstreams(steps.upstreamsMs);
  await until(idle, left(steps.waitsCancelledMs));
  // A step and not a timer, because a process that was held up must not skip it.
  if (!idle()) cancelWaits();
  await until(idle, left(steps.announcedMs));
  cut();
  await until(idle, left(steps.settledMs));
  const unsettled = inFlight();
  await within(left(steps.releasedMs), release(left(steps.releasedMs)));
  return unsettled;
}

/**
 * Ends the process `endMs` after its grace, or after a second signal, whatever it still waits for, startup included.
 * The grace is the one that it reports with the returned control: there is none before it serves.
 */
export function endingInTime(control: ProcessControl, log: Log): ProcessControl {
  let graceMs = 0;
  const endSoon = async (): Promise<never> => {
    await sleep(endMs, undefined, { ref: false });
    log.error({}, 'the shutdown deadline has passed, and not everything could be closed');
    await Promise.race([log.flush(), sleep(200)]);
    process.exit(1);
  };
  void control.forced.then(endSoon);
  void control.stopped.then(() => sleep(graceMs, undefined, { ref: false })).then(endSoon);
  return {
    ...control,
    serving: (serving) => {
      graceMs = serving.graceMs;
      control.serving(serving);
    },
  };
}

/** Work that is not done by then continues by itself, and is no longer waited for. */
export const within = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
  const timer = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: timer.signal, ref: true }).catch(() => undefined);
  await Promise.race([work, late]).finally(() => timer.abort());
};

async function until(done: () => boolean, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!done() && performance.now() < deadline) await sleep(20);
}
