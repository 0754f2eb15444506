import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tortureSeed } from '../support/seeded.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { accounted, truncated, wholeLedger } from './faults/audit.ts';
import type { FaultName } from './faults/faults.ts';
import { mixedLoad, modelNamed } from './faults/mixed-load.ts';
import { audited } from './faults/torture.ts';
import { openWorld, type World } from './faults/world.ts';

/** A pair of faults for each kind; `npm run torture` chooses from all faults. */
const rounds: readonly (readonly FaultName[])[] = [
  ['a gateway is killed', 'connections to the database break'],
  ['PostgreSQL is killed', 'a gateway is told to stop'],
  ['the network to the database is half open', 'the upstream is away'],
];

const seed = tortureSeed();
let world: World;

beforeAll(async () => {
  const folder = path.join(await makeTestFolder('faults'), 'world');
  world = await openWorld({ folder, duplicates: seed % 2 === 0 ? 'allow' : 'reject', disks: false });
}, 240_000);
afterAll(() => world?.close(), 60_000);

describe('four gateways under load have a consistent ledger and recover without intervention', () => {
  it.each(rounds.map((faults) => [faults.join(' and '), faults] as const))(
    'when %s',
    async (_, faults) => {
      const plan = { faults, warmUp: 20, seed: seed + rounds.indexOf(faults), longestMs: 1200 };
      const { problems, complete, rows } = await audited(world, plan);
      expect({ seed, problems }).toEqual({ seed, problems: [] });
      expect(complete).toBeGreaterThan(20);
      expect(rows).toBeGreaterThan(20);
    },
    120_000,
  );
});

describe('the audit of a round', () => {
  it('reports a truncated answer and a deleted ledger row, and the day totals that no longer match', async () => {
    const load = mixedLoad(world, seed);
    await load.stop();
    const asked = { owner: 'free', family: 'chat', model: modelNamed('quick'), stream: true } as const;
    const sent = await load.ask({ ...asked, requestId: randomUUID() }, 0);
    load.close();
    expect([await accounted(world, [sent]), truncated([sent])]).toEqual([[], []]);
    const cut = { ...sent, outcome: { ...sent.outcome, text: sent.outcome.text.replace('All of ', '') } };
    expect(truncated([cut])).toEqual([expect.stringContaining('complete, and 21 of 28 characters')]);
    await world.database.query('delete from usage_cost_events where request_id = $1', [sent.requestId]);
    expect(await accounted(world, [sent])).toEqual([
      expect.stringContaining('complete, and not in the ledger'),
    ]);
    expect(await wholeLedger(world)).toEqual([
      expect.stringContaining('successes without a ledger row'),
      expect.stringContaining('day totals are not what they should be'),
    ]);
  });
});
