import { processVariables } from '../infrastructure/config/process-variables.ts';

/**
 * Each half of the young generation, in MB. Requests live for milliseconds to seconds, and each collection costs a
 * millisecond or two however little is left. Twice as much saves up to a tenth of the CPU of a process that is busy all the time, and takes
 * 60 to 180 MiB more.
 */
const youngHalfMb = 32;

/** How the processes that serve use V8; `own` are the flags of the command line, which come later and so count. */
export const workerFlags = (own: readonly string[]): string[] => [
  `--max-semi-space-size=${youngHalfMb}`,
  ...own,
  // With the collection that frees what a start leaves (`collectStart`).
  '--expose-gc',
];

/**
 * How they use glibc, where the operator does not say it otherwise. Its own thresholds are these, and grow with what is
 * freed: then the buffers of large bodies are cut out of heaps that are never given back, one for each thread. Measured
 * after bodies of 1 MB: 130 to 200 MiB, for a twelfth of the CPU that such a body costs.
 */
const allocator = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

/**
 * Threads for what blocks, where the operator does not say it otherwise. Half of them may look names up at once: of
 * Node's 4 it would be 2, so that two names which resolve slowly would stop all others for seconds. Twelve more take
 * some 100 KB while they have nothing to do.
 */
const threads = { UV_THREADPOOL_SIZE: '16' };

export const workerVariables = (): Readonly<Record<string, string | undefined>> => ({
  ...allocator,
  ...threads,
  ...processVariables(),
});
