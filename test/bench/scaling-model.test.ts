import { describe, expect, it } from '@jest/globals';
import { type Costs, type Deployment, simulated } from '../../bench/scaling-model.ts';

const costs: Costs = {
  admission: { fixed: 100, each: 10 },
  settlement: { fixed: 500, each: 100 },
  commit: 200,
  network: 200,
  providerMs: 50,
};
const deployment: Deployment = {
  perSecond: 2000,
  owners: 10_000,
  exponent: 0,
  replicas: 4,
  sticky: false,
  nodes: 2,
  shardsPerNode: 2,
  coresPerNode: 4,
  hotOwnerParts: 1,
};
const run = (changed: Partial<Deployment> = {}) => simulated({ ...deployment, ...changed }, costs, 1, 1);

describe('the simulation of many machines', () => {
  it('gives a lone request the latency of its statements, the commit and the network', () => {
    const { p50, served, batch } = run({ perSecond: 20 });
    expect(p50).toBeCloseTo((100 + 10 + 500 + 100 + 200 + 2 * 200) / 1000, 3);
    expect([served, batch]).toEqual([1, 1]);
  });

  it('uses the CPU time of its batches, less than is available, and serves every request', () => {
    const { cores, batch, busiest, served } = run();
    const admission = 110;
    expect(cores).toBeGreaterThan((2000 * (admission / 4 + 500 / batch + 100)) / 1e6);
    expect(cores).toBeLessThan((2000 * (admission + 500 / batch + 100)) / 1e6 + 0.05);
    expect(busiest).toBeLessThan(1);
    expect(served).toBe(1);
  });

  it('has larger batches and a higher latency with fewer cores', () => {
    const few = run({ coresPerNode: 1, nodes: 1, shardsPerNode: 4 });
    const many = run();
    expect(few.batch).toBeGreaterThan(many.batch);
    expect(few.p50).toBeGreaterThan(many.p50);
  });

  it('limits a hot owner by its lock; dividing the owner, or sending it to one replica, lowers its p99 latency', () => {
    const hot = { exponent: 1.6, perSecond: 4000, replicas: 32, nodes: 8, coresPerNode: 8 };
    const alone = run(hot);
    const divided = run({ ...hot, hotOwnerParts: 16 });
    const sticky = run({ ...hot, sticky: true });
    expect(alone.hotP99).toBeGreaterThan(5 * divided.hotP99);
    expect(alone.hotP99).toBeGreaterThan(2 * sticky.hotP99);
    expect(divided.hotServed).toBe(1);
  });

  it('has the same result for the same seed', () => {
    expect(run()).toEqual(run());
  });
});
