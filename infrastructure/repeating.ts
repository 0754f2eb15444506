/** Work in the background, one run after the other. */
export interface Repeating {
  /** No further run; resolves when the one under way is over. */
  readonly stop: () => Promise<void>;
}

/**
 * Runs again and again, `seconds()` after the end of the run before. The error of a run that fails goes to `onFault`,
 * and the next run follows all the same. A long run asks `shouldContinue` whether it should come to its end.
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
