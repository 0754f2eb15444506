/** Background work, one run after the other. */
export interface Repeating {
  /** Starts no further run; resolves when the one in progress is done. */
  readonly stop: () => Promise<void>;
}

/**
 * Runs again and again, each time `seconds()` after the end of the previous run. The error of a failed run goes to
 * `onFault`, and the next run follows all the same. A long run should end early when `shouldContinue` returns false.
 */
export function repeating(
  seconds: () => number,
  run: (shouldContinue: () => boolean) => Promise<void>,
  onFault: (error: unknown) => void,
): Repeating {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  const once = async (): Promise<void> => {
    try {
      await run(() => !stopped);
    } catch (error) {
      onFault(error);
    }
    next();
  };
  const next = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      underWay = once();
    }, seconds() * 1000).unref();
  };
  next();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}
