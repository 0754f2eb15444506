import { describe, expect, it } from '@jest/globals';
import { percentile } from '../../bench/load.ts';
import { resultOf, type Taken } from '../../bench/results.ts';
import { scaled } from '../../bench/scenarios.ts';

const taken = (side: Taken['side'], ...cpu: readonly number[]): Taken => ({
  side,
  samples: cpu.map((value) => ({ cpu: value })),
});
const small = { name: 'small', measures: ['cpu', 'database'] } as const;

describe('the results of the rounds of a bench', () => {
  const bare = taken('bare proxy', 10, 20, 40);
  const full = taken('full', 20, 20, 160);
  const peer = taken('portkey', 40, 200, 320);

  it('are medians of the ratios within each round, not ratios of medians', () => {
    expect(resultOf(small, [bare, full, peer], [], 'portkey')).toEqual({
      name: 'small',
      sides: [
        { side: 'bare proxy', cpu: { median: 20, ofPeer: 0.125, rounds: [10, 20, 40] } },
        { side: 'full', cpu: { median: 20, ratio: 2, added: 10, ofPeer: 0.5, rounds: [20, 20, 160] } },
        { side: 'portkey', cpu: { median: 200, ratio: 8, added: 180, rounds: [40, 200, 320] } },
      ],
    });
  });

  it('have no ratios for a measurement that is not of a side', () => {
    const commit: Taken = { side: 'a commit', samples: [{ p50: 0.25 }, { p50: 0.125 }] };
    expect(resultOf({ name: 'steady', measures: ['p50', 'p99'] }, [], [commit], undefined).sides).toEqual([
      { side: 'a commit', p50: { median: 0.25, rounds: [0.25, 0.125] } },
    ]);
  });

  it('have percentiles by rank, from the smallest value at 0 to the largest at 1', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([0, 0.5, 0.99, 1].map((part) => percentile(values, part))).toEqual([1, 51, 100, 100]);
  });
});

describe('the load of a scenario', () => {
  it('is scaled, but keeps all callers, with at least one request for each', () => {
    expect(scaled({ callers: 32, requests: 4000 }, 0.5)).toEqual({ callers: 32, requests: 2000 });
    expect(scaled({ callers: 32, requests: 4000 }, 0.001)).toEqual({ callers: 32, requests: 32 });
    expect(scaled({ perSecond: 300, seconds: 4 }, 0.5)).toEqual({ perSecond: 300, seconds: 2 });
  });
});
