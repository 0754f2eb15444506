import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { onCitus, onEachNode, testDistribution } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { tortureSeed } from '../support/seeded.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { budgetChaos } from './budget-chaos.ts';
import { type OpenActor, openActor } from './budget-actor.ts';
import { audit, auditSums, type Figures, keepHistory, openSql } from './budget-audit.ts';
import { aJump, anAction, aWorld, checkReseed, jumpAhead, maybeTerms, perform } from './budget-model.ts';

/** A round: everything in it happens at the same time, including the jump of the clock. */
const aRound = fc.record({
  jump: fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: aJump }),
  actions: fc.array(anAction, { minLength: 1, maxLength: 10 }),
});

describe('budgets over four processes, with concurrent settlements and changes', () => {
  const database = withDatabase();
  const actors: OpenActor[] = [];
  let sql: ReturnType<typeof openSql>;
  beforeAll(async () => {
    sql = openSql(database.url());
    await keepHistory(sql.query, onCitus() ? onEachNode(database.url()) : []);
    for (let index = 0; index < 4; index += 1)
      actors.push(await openActor(database.url(), 6, { distribution: testDistribution() }));
  });
  afterAll(async () => {
    for (const actor of actors) await actor.close();
    await sql.end();
  });

  it("no row takes a window's spend over the hard budget in force; totals, rollups and alerts are exact", async () => {
    const seen: Figures = { rows: 0, blocked: 0, budgets: 0, alerts: 0, full: 0 };
    const missing = (): boolean => Object.values(seen).some((count) => count === 0);
    const law = () =>
      fc.asyncProperty(
        fc.array(aRound, { minLength: 1, maxLength: 8 }),
        fc.array(maybeTerms, { minLength: 3, maxLength: 3 }),
        async (rounds, file) => {
          const { query } = sql;
          const world = await aWorld(query, actors);
          const scopes = world.owners.map(({ scope }) => scope);
          for (const { jump, actions } of rounds) {
            await Promise.all([
              ...(jump === undefined ? [] : [jumpAhead(query, jump)]),
              ...actions.map((action) => perform(world, action)),
            ]);
            await audit(query, scopes, world.told);
          }
          await checkReseed(world, file);
          const figures = await audit(query, scopes, world.told);
          await auditSums(query);
          for (const key of Object.keys(seen) as (keyof Figures)[]) seen[key] += figures[key];
        },
      );
    await fc.assert(law(), { numRuns: 20, endOnFailure: true });
    // Repeats until each kind of event has occurred.
    for (let more = 0; missing() && more < 5; more += 1)
      await fc.assert(law(), { numRuns: 10, endOnFailure: true });
    expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([]);
  });
});

describe('budgets over four processes that are killed, while PostgreSQL restarts and the clock passes window ends', () => {
  it("no acknowledged row is lost, and no row takes a window's spend over the hard budget in force", async () => {
    const seed = tortureSeed();
    const folder = await makeTestFolder('budgets');
    try {
      const { rows, blocked, alerts, answers, events } = await budgetChaos({
        folder,
        seed,
        workers: 4,
        cycles: 1,
        cycleSeconds: 10,
      });
      for (const count of [rows, blocked, alerts, answers['recorded'] ?? 0])
        expect(count).toBeGreaterThan(20);
      expect(Object.values(events).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(2);
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
    }
  });
});
