import { tmpdir } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { execute, type Terms } from './execute.ts';

/** A command that never ends. */
const endless = ['-e', 'setInterval(() => undefined, 1000)'];

const terms: Terms = {
  cwd: tmpdir(),
  env: {},
  beginMaxMs: 20_000,
  hasBegun: () => false,
  maxMs: 100,
  signal: new AbortController().signal,
};

describe('the time limit of a coding agent', () => {
  it('counts from its first call, not from its start', async () => {
    const begins = Date.now() + 1000;
    const ended = await execute(process.execPath, endless, {
      ...terms,
      hasBegun: () => Date.now() >= begins,
    });
    expect(ended.timedOut).toBe(true);
    expect(ended.ms).toBeGreaterThan(1050);
  });

  it('ends after `beginMaxMs` if it makes no call', async () => {
    const ended = await execute(process.execPath, endless, { ...terms, beginMaxMs: 300 });
    expect(ended.timedOut).toBe(true);
  });
});
