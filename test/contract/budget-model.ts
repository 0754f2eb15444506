import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import type { Owner as BudgetOwner } from '../../domain/identity/caller.ts';
import type { Cadence } from '../../domain/budget/budget.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { Actor, SeededBudgets, Submission, Terms } from './budget-actor.ts';
import type { Sql, Told } from './budget-audit.ts';

/** An owner of a budget, and the callers whose spend is counted under it. */
export interface Owner {
  readonly ref: BudgetOwner;
  readonly scope: string;
  readonly email: string;
  readonly callers: readonly Caller[];
}

/** Owners, the processes that serve them, and everything that was submitted. */
export interface World {
  readonly query: Sql;
  readonly owners: readonly Owner[];
  readonly actors: readonly Actor[];
  readonly told: Told[];
  /** Prefix of chosen request ids. */
  readonly name: string;
}

const cadences = ['daily', 'weekly', 'monthly'] as const satisfies readonly Cadence[];

async function aUser(query: Sql): Promise<Owner> {
  const email = `${randomUUID()}@Example.com`;
  const [row] = await query<{ user_id: string }>(
    'insert into users (email, name) values ($1, $1) returning user_id',
    [email],
  );
  const userId = row?.user_id ?? '';
  const keyOwner = { kind: 'user', userId, requestLoggingEnabled: true } as const;
  return {
    ref: { kind: 'user', userId },
    scope: `user:${userId}`,
    email,
    callers: [1, 2].map(() => ({ apiKeyId: randomUUID(), keyOwner, allowedModels: [] })),
  };
}

/** A team with a key of its own and two service accounts. */
async function aTeam(query: Sql): Promise<Owner> {
  const teamId = `t-${randomUUID()}`;
  await query('insert into teams (team_id, name) values ($1, $1)', [teamId]);
  const owners: readonly Caller['keyOwner'][] = [
    { kind: 'team', teamId },
    ...['a', 'b'].map((name) => ({
      kind: 'service_account' as const,
      serviceAccountId: name + teamId,
      teamId,
    })),
  ];
  return {
    ref: { kind: 'team', teamId },
    scope: `team:${teamId}:actor:none`,
    email: '',
    callers: owners.map((keyOwner) => ({ apiKeyId: randomUUID(), keyOwner, allowedModels: [] })),
  };
}

export async function aWorld(
  query: Sql,
  actors: readonly Actor[],
  { users = 2, teams = 1 } = {},
): Promise<World> {
  const owners: Owner[] = [];
  for (let index = 0; index < users; index += 1) owners.push(await aUser(query));
  for (let index = 0; index < teams; index += 1) owners.push(await aTeam(query));
  return { query, owners, actors, told: [], name: randomUUID().slice(0, 8) };
}

/** A whole number of units, one picodollar less or more, or any cost. */
const aCost = fc.oneof(
  fc
    .tuple(fc.bigInt({ min: 0n, max: 6n }), fc.constantFrom(-1n, 0n, 0n, 1n))
    .map(([units, off]) => String(units === 0n ? 0n : units * 100_000_000n + off)),
  fc.bigInt({ min: 0n, max: 600_000_000n }).map(String),
);

const anItem = fc.record({
  caller: fc.nat(),
  status: fc.oneof(
    { weight: 8, arbitrary: fc.constant('priced' as const) },
    { weight: 1, arbitrary: fc.constantFrom('unpriced' as const, 'usage_missing' as const) },
  ),
  cost: aCost,
  /** One of few chosen request ids, or a unique one. */
  chosen: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.nat({ max: 3 }) },
  ),
});
type Item = typeof anItem extends fc.Arbitrary<infer A> ? A : never;

const someTerms: fc.Arbitrary<Terms> = fc.record({
  cadence: fc.constantFrom(...cadences),
  amount: fc.oneof({ weight: 9, arbitrary: fc.nat({ max: 40 }) }, { weight: 1, arbitrary: fc.constant(0) }),
  hard: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});
export const maybeTerms = fc.oneof(
  { weight: 4, arbitrary: someTerms },
  { weight: 1, arbitrary: fc.constant(null) },
);

const by = { actor: fc.nat(), owner: fc.nat(), afterMs: fc.oneof(fc.constant(0), fc.nat({ max: 6 })) };

/** The actions that a process can perform. */
export const anAction = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      ...by,
      items: fc.array(anItem, { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('set' as const), ...by, terms: someTerms }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('set' as const), ...by, terms: fc.constant(null) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reseed' as const),
      ...by,
      terms: fc.array(maybeTerms, { minLength: 8, maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('late' as const),
      ...by,
      item: anItem,
      hoursAgo: fc.oneof(fc.constant(0), fc.nat({ max: 900 })),
    }),
  },
);
export type Action = typeof anAction extends fc.Arbitrary<infer A> ? A : never;

const pick = <A>(list: readonly A[], number: number): A => {
  const found = list[number % list.length];
  assert.ok(found !== undefined, 'there is nothing to pick from');
  return found;
};

function submissionOf({ name }: World, owner: Owner, { caller, status, cost, chosen }: Item): Submission {
  // A backslash and non-ASCII letters: ids are compared as digests of their bytes.
  const requestId = chosen === undefined ? randomUUID() : `${name}-${owner.scope}-\\x${chosen}é`;
  return { requestLogId: randomUUID(), requestId, caller: pick(owner.callers, caller), status, cost };
}

/** Budgets of all owners, as in a configuration file. */
const seeded = ({ owners }: World, terms: readonly (Terms | null)[]): SeededBudgets => ({
  users: owners.flatMap(({ ref, email }, index) =>
    ref.kind === 'user' ? [{ email, terms: terms[index % terms.length] ?? null }] : [],
  ),
  teams: owners.flatMap(({ ref }, index) =>
    ref.kind === 'team' ? [{ id: ref.teamId, terms: terms[index % terms.length] ?? null }] : [],
  ),
});

/** Performs the action, and records the answer. */
export async function perform(world: World, action: Action): Promise<void> {
  const { owners, actors, told, query } = world;
  const owner = pick(owners, action.owner);
  const actor = pick(actors, action.actor);
  if (action.afterMs > 0) await sleep(action.afterMs);
  if (action.kind === 'settle') {
    const submissions = action.items.map((item) => submissionOf(world, owner, item));
    const noted = submissions.map(
      (submission): Told => ({ submission, scope: owner.scope, answer: 'killed' }),
    );
    told.push(...noted);
    const answers = await actor.settle(submissions);
    for (const [index, answer] of answers.entries()) noted[index]!.answer = answer;
  } else if (action.kind === 'set') await actor.set(owner.ref, action.terms);
  else if (action.kind === 'reseed') await actor.reseed(seeded(world, action.terms));
  else {
    const submission = submissionOf(world, owner, action.item);
    const noted: Told = { submission, scope: owner.scope, answer: 'killed' };
    told.push(noted);
    const [row] = await query<{ at: Date }>('select gateway_now() - make_interval(hours => $1) as at', [
      action.hoursAgo,
    ]);
    const at = row?.at.toISOString() ?? '';
    // Twice, as after a crash in the middle of a file.
    const results = [await actor.settleLate(submission, at), await actor.settleLate(submission, at)];
    assert.ok(!results.includes('refused'), 'a late record was refused');
    if (results.includes('settled')) noted.answer = 'late';
  }
}

/** The ledger's clock moves forward: by hours, or to so many milliseconds before the end of a window. */
export const aJump = fc.oneof(
  fc.record({ hours: fc.nat({ max: 200 }) }),
  fc.record({ endOf: fc.constantFrom(...cadences), beforeMs: fc.integer({ min: 0, max: 40 }) }),
);
export type Jump = typeof aJump extends fc.Arbitrary<infer A> ? A : never;

export async function jumpAhead(query: Sql, jump: Jump): Promise<void> {
  const by =
    'hours' in jump
      ? 'make_interval(hours => $1)'
      : '(select budget_window_end($1, t) - t - make_interval(secs => $2 / 1000.0) from gateway_now() t)';
  const values = 'hours' in jump ? [jump.hours] : [jump.endOf, jump.beforeMs];
  const [ahead] = await query<{ by: string }>(`select greatest(interval '0', ${by})::text as by`, values);
  await query('update test_clock set shift = shift + $1::interval', [ahead?.by]);
}

/**
 * After a reload, an active budget matches its owner's block; one whose block was removed from the file is
 * inactive.
 */
export async function checkReseed(world: World, terms: readonly (Terms | null)[]): Promise<void> {
  const [actor] = world.actors;
  assert.ok(await actor?.reseed(seeded(world, terms)), 'the file could not be reconciled');
  for (const [index, { ref }] of world.owners.entries()) {
    const wanted = terms[index % terms.length] ?? null;
    const [found] = await world.query<{
      cadence: Cadence;
      amount_10000: string;
      hard_limit: boolean;
      from_config: boolean;
    }>(
      ref.kind === 'user'
        ? 'select * from user_budgets where user_id = $1 and active'
        : 'select * from team_budgets where team_id = $1 and active',
      [ref.kind === 'user' ? ref.userId : ref.teamId],
    );
    const inForce = found && {
      cadence: found.cadence,
      amount: Number(found.amount_10000),
      hard: found.hard_limit,
    };
    if (wanted === null)
      assert.notEqual(found?.from_config, true, 'a budget is in force that is gone from the file');
    else assert.deepEqual(inForce, { ...wanted }, 'the budget in force is not the one of the file');
  }
}
