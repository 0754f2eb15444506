import { afterEach, describe, expect, it } from '@jest/globals';
import { workerFlags, workerVariables } from '../../composition/worker-memory.ts';

describe('the environment of worker processes', () => {
  const before = process.env['MALLOC_ARENA_MAX'];
  afterEach(() => {
    if (before === undefined) delete process.env['MALLOC_ARENA_MAX'];
    else process.env['MALLOC_ARENA_MAX'] = before;
  });

  it('makes malloc return the memory of large bodies, with one arena and fixed thresholds', () => {
    delete process.env['MALLOC_ARENA_MAX'];
    expect(workerVariables()).toMatchObject({
      MALLOC_ARENA_MAX: '1',
      MALLOC_MMAP_THRESHOLD_: '131072',
      MALLOC_TRIM_THRESHOLD_: '131072',
      PATH: process.env['PATH'],
    });
  });

  it('has a pool of 16 threads, so that slow name lookups leave some for other work', () => {
    expect(workerVariables()).toMatchObject({ UV_THREADPOOL_SIZE: '16' });
  });

  it('does not override the settings of the operator', () => {
    process.env['MALLOC_ARENA_MAX'] = '4';
    expect(workerVariables()['MALLOC_ARENA_MAX']).toBe('4');
    // The last value of a repeated flag is used.
    expect(workerFlags(['--max-semi-space-size=8'])).toEqual([
      '--max-semi-space-size=32',
      '--max-semi-space-size=8',
      '--expose-gc',
    ]);
  });
});
