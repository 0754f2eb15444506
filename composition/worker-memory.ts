import { processVariables } from '../infrastructure/config/process-variables.ts';

/**
 * Each half of the young generation, in MB. Requests live for milliseconds to seconds, and each collection costs a
 * millisecond or two however little survives it. Halves of 64 MB save up to a tenth of the CPU of a process that is
 * always busy, and take 60 to 180 MiB more.
 */
const youngHalfMb = 32;

/** V8 flags of the processes that serve; `own` are the flags of the command line, which come last and so win. */
export const workerFlags = (own: readonly string[]): string[] => [
  `--max-semi-space-size=${youngHalfMb}`,
  ...own,
  // Enables the collection that frees what startup leaves behind (`collectStartupGarbage`).
  '--expose-gc',
];

/**
 * Settings of glibc, unless the operator sets them. The thresholds are its own defaults; left unset, they grow with
 * what is freed, and the buffers of large bodies are then allocated from heaps, one per thread, that are never given
 * back. Measured after bodies of 1 MB: this saves 130 to 200 MiB, for a twelfth of the CPU that such a body costs.
 */
const allocator = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

/**
 * Threads for blocking calls, unless the operator sets them. Name lookups may use half of them: of Node's default of 4
 * that is 2, so two names that resolve slowly would block all others for seconds. Twelve more threads take some 100 KB
 * while they are idle.
 */
const threads = { UV_THREADPOOL_SIZE: '16' };

export const workerVariables = (): Readonly<Record<string, string | undefined>> => ({
  ...allocator,
  ...threads,
  ...processVariables(),
});
