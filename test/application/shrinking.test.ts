import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { shrinkage } from '../../application/shrinking.ts';

const loss = fc.tuple(fc.nat(50), fc.nat(50)).map(([left, lost]) => ({ there: left + lost, lost }));
const losses = fc.record({ providers: loss, models: loss, 'API keys': loss });

describe('a configuration file that removes entries', () => {
  it('is reported only if it removes more than half of a kind, and each such kind is named', () => {
    fc.assert(
      fc.property(losses, (all) => {
        const told = shrinkage(all);
        const ended = Object.entries(all).filter(([, { there, lost }]) => lost > there - lost);
        expect(told === undefined).toBe(ended.length === 0);
        for (const [kind, { there, lost }] of ended) expect(told).toContain(`${lost} of ${there} ${kind}`);
      }),
      { seed: 31 },
    );
  });
});
