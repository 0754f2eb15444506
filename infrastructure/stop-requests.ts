import { packageManagerExited } from './starter.ts';

/** A signal within this time counts as the first one repeated: terminals, service managers and npm send it twice. */
const secondAfterMs = 2000;

/** Requests from outside to stop this process. */
export interface StopRequests {
  /** The first SIGTERM or SIGINT, or the end of the package manager that started the process. */
  readonly stopped: Promise<void>;
  /** A signal at least 2 seconds after the first request: its sender does not want to wait. */
  readonly forced: Promise<void>;
  /** Has the same effect as a signal. */
  readonly requestStop: () => void;
}

export function stopRequests(): StopRequests {
  const stopped = Promise.withResolvers<void>();
  const forced = Promise.withResolvers<void>();
  let firstAt: number | undefined;
  const requestStop = (): void => {
    const now = performance.now();
    firstAt ??= now;
    stopped.resolve();
    if (now - firstAt >= secondAfterMs) forced.resolve();
  };
  process.on('SIGTERM', requestStop);
  process.on('SIGINT', requestStop);
  void packageManagerExited().then(() => {
    if (firstAt === undefined) requestStop();
  });
  return { stopped: stopped.promise, forced: forced.promise, requestStop };
}

/** For a command with nothing to drain. Resolves at the first request; a `forced` one ends the process at once. */
export function untilStopped(): Promise<void> {
  const { stopped, forced } = stopRequests();
  void forced.then(() => process.exit(1));
  return stopped;
}
