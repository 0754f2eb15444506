import { getHeapSpaceStatistics } from 'node:v8';
import { type Repeating, repeating } from './repeating.ts';

// V8 collects by what is allocated, and who is idle allocates nothing: what a start or a busy minute left would stay
// until the next one. What follows collects by the clock, in processes that were started with `--expose-gc`, as the
// supervisor does.

/**
 * Frees what a start leaves: texts of modules, trees of the configuration, code that runs once, some 40 MB. Takes 0.1 s,
 * before anybody is let in.
 */
export function collectStart(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Whether there was work is looked at so often, in seconds. */
const lookSecs = 30;
/** This part of the time at work is what a process does for itself, or for hardly anybody. */
const idlePart = 0.02;
/** A smaller young generation is not worth it. */
const worthBytes = 16 * 1024 * 1024;

/**
 * Gives the young generation of a busy time back, some 200 MB, once there is hardly any work: one minor collection,
 * which takes milliseconds, and after which V8 makes it as small as what lives in it.
 */
export function collectWhenIdle(onFault: (error: unknown) => void, everySecs = lookSecs): Repeating {
  let before = performance.eventLoopUtilization();
  return repeating(
    () => everySecs,
    async () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      if (utilization < idlePart && youngBytes() > worthBytes)
        globalThis.gc?.({ type: 'minor', execution: 'sync' });
    },
    onFault,
  );
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
