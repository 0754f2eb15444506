import { afterEach, describe, expect, it } from '@jest/globals';
import { workerFlags, workerVariables } from '../../composition/worker-memory.ts';

describe('how the processes that serve hold memory', () => {
  const before = process.env['MALLOC_ARENA_MAX'];
  afterEach(() => {
    if (before === undefined) delete process.env['MALLOC_ARENA_MAX'];
    else process.env['MALLOC_ARENA_MAX'] = before;
  });

  it('gives back what large bodies took, by one heap whose thresholds stay as they are', () => {
    delete process.env['MALLOC_ARENA_MAX'];
    expect(workerVariables()).toMatchObject({
      MALLOC_ARENA_MAX: '1',
      MALLOC_MMAP_THRESHOLD_: '131072',
      MALLOC_TRIM_THRESHOLD_: '131072',
      PATH: process.env['PATH'],
    });
  });

  it('have threads enough that names which resolve slowly leave some to others', () => {
    expect(workerVariables()).toMatchObject({ UV_THREADPOOL_SIZE: '16' });
  });

  it('leaves it to an operator who says it otherwise', () => {
    process.env['MALLOC_ARENA_MAX'] = '4';
    expect(workerVariables()['MALLOC_ARENA_MAX']).toBe('4');
    // Of a flag that is given twice the last one counts.
    expect(workerFlags(['--max-semi-space-size=8'])).toEqual([
      '--max-semi-space-size=32',
      '--max-semi-space-size=8',
      '--expose-gc',
    ]);
  });
});
