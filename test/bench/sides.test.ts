import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scenarios } from '../../bench/scenarios.ts';
import { Stage } from '../../bench/sides.ts';

const [small] = scenarios;
let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open(undefined);
});
afterAll(async () => {
  await stage?.close();
});

describe('a side of the bench', () => {
  it.each(['bare proxy', 'full'] as const)('is measured, with all figures positive: %s', async (name) => {
    const side = await stage.side(name);
    if (small === undefined) throw new Error('there are no scenarios');
    const sample = await side.sample(small, 0.01);
    expect(sample).toEqual({
      cpu: expect.any(Number),
      ...(name === 'full' ? { database: expect.any(Number) } : {}),
      p50: expect.any(Number),
      p99: expect.any(Number),
      firstP50: expect.any(Number),
      firstP99: expect.any(Number),
    });
    for (const figure of Object.values(sample)) expect(figure).toBeGreaterThan(0);
    const { servingKib = 0, supervisorKib = 0 } = side.resident?.() ?? {};
    expect(servingKib).toBeGreaterThan(10_000);
    expect(supervisorKib > 0).toBe(name === 'full');
  });
});
