import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { changesState } from '../../domain/identity/cross-origin.ts';
import type { AdminAnswer } from '../support/admin.ts';
import { declaredRoutes } from '../support/openapi/description.ts';
import { adminObjectsScene, dataOf, type Item } from './admin-objects-scene.ts';

const { admin, aUser, aKeyOf, eventsOf } = adminObjectsScene();
const root = '/api/v1/admin';
const anId = (): string => `t-${randomUUID()}`;

interface Change {
  readonly path: string;
  /** The `n`th of several different bodies. */
  readonly body: (n: number) => object | undefined;
  /** The path that returns the object; undefined if it cannot be read again. */
  readonly present?: string;
}

const aKeyPath = async (): Promise<string> => `${root}/api-keys/${String((await aKeyOf())['api_key_id'])}`;

const aUserPath = async (): Promise<string> => `${root}/users/${String((await aUser())['user_id'])}`;

async function aTeamPath(): Promise<string> {
  const id = anId();
  dataOf(await admin('POST', `${root}/teams`, { team_id: id }));
  return `${root}/teams/${id}`;
}

async function anAccountPath(): Promise<string> {
  const id = anId();
  dataOf(await admin('POST', `${root}/service-accounts`, { service_account_id: id, team_id: 'platform' }));
  return `${root}/service-accounts/${id}`;
}

const named = (n: number) => ({ name: `n${n}` });
const nothing = (): undefined => undefined;
const read = (path: string, body: Change['body']): Change => ({ path, body, present: path });

const limits = `${root}/rate-limits`;
const limited = {
  [`${limits}/api-keys/:api_key_id`]: async () => (await aKeyPath()).replace(root, limits),
  [`${limits}/users/:user_id`]: async () => (await aUserPath()).replace(root, limits),
  [`${limits}/teams/:team_id`]: async () => (await aTeamPath()).replace(root, limits),
  [`${limits}/models/:model_id`]: async () => {
    const path = `${limits}/models/fast`;
    await admin('DELETE', path);
    return path;
  },
};

/** A rate limit of a new subject, at version 1. */
const aLimitOf = (subject: () => Promise<string>, body: Change['body']) => async (): Promise<Change> => {
  const path = await subject();
  dataOf(await admin('PUT', path, { requests_per_minute: 1000 }));
  return { path, body };
};

/** A new object, at version 1, for each route that takes a version. */
const versioned: Readonly<Record<string, () => Promise<Change>>> = {
  [`PATCH ${root}/api-keys/:api_key_id`]: async () => read(await aKeyPath(), named),
  [`DELETE ${root}/api-keys/:api_key_id`]: async () => read(await aKeyPath(), nothing),
  [`POST ${root}/api-keys/:api_key_id/rotate`]: async () => {
    const path = await aKeyPath();
    return { path: `${path}/rotate`, body: (n) => ({ overlap_secs: n }), present: path };
  },
  [`PATCH ${root}/users/:user_id`]: async () => read(await aUserPath(), named),
  [`PATCH ${root}/teams/:team_id`]: async () => read(await aTeamPath(), named),
  [`PATCH ${root}/service-accounts/:service_account_id`]: async () => read(await anAccountPath(), named),
  ...Object.fromEntries(
    Object.entries(limited).flatMap(([path, subject]) => [
      [`PUT ${path}`, aLimitOf(subject, (n) => ({ requests_per_minute: n + 1 }))],
      [`DELETE ${path}`, aLimitOf(subject, nothing)],
    ]),
  ),
};

const budget = { cadence: 'daily', amount_10000: 1, hard_limit: true };

/**
 * A body for each route that takes no version: nothing exists before a creation, budgets and memberships are set as a
 * whole, one change after the other, a token is revoked once, and tests of models and of mail change nothing.
 */
const unversioned: Readonly<Record<string, object | undefined>> = {
  [`POST ${root}/api-keys`]: { name: 'k', owner_kind: 'team', owner_id: 'platform' },
  [`POST ${root}/users`]: { email: 'x@example.com' },
  [`POST ${root}/teams`]: { team_id: 'x' },
  [`POST ${root}/service-accounts`]: { service_account_id: 'x', team_id: 'platform' },
  [`POST ${root}/tokens`]: { name: 'x', scope: 'read' },
  [`DELETE ${root}/tokens/:admin_token_id`]: undefined,
  [`PUT ${root}/teams/:team_id/members/:user_id`]: { role: 'member' },
  [`DELETE ${root}/teams/:team_id/members/:user_id`]: undefined,
  [`PUT ${root}/spend/budgets/users/:user_id`]: budget,
  [`DELETE ${root}/spend/budgets/users/:user_id`]: undefined,
  [`PUT ${root}/spend/budgets/teams/:team_id`]: budget,
  [`DELETE ${root}/spend/budgets/teams/:team_id`]: undefined,
  [`POST ${root}/models/:model_id/test`]: { owner_kind: 'team', owner_id: 'platform' },
  [`POST ${root}/mail/test`]: undefined,
};

const changing = declaredRoutes.filter(({ method, isRead }) => changesState(method) && !isRead);
const namesOf = (routes: typeof changing): readonly string[] =>
  routes.map(({ method, path }) => `${method} ${path}`).toSorted();
const at = (route: string): readonly [method: string, path: string] => {
  const [method = '', path = ''] = route.split(' ');
  return [method, path];
};
const inOrder = (answers: readonly AdminAnswer[]): readonly number[] =>
  answers.map(({ status }) => status).toSorted((one, other) => one - other);

describe('concurrent changes of one object', () => {
  it('are tested for every changing route: with a version if it takes `If-Match`, without one otherwise', () => {
    const [versions, none] = [true, false].map((has) =>
      namesOf(changing.filter(({ isVersioned = false }) => isVersioned === has)),
    );
    expect(Object.keys(versioned).toSorted()).toEqual(versions);
    expect(Object.keys(unversioned).toSorted()).toEqual(none);
  });

  it.each(Object.keys(versioned))(
    'to the same version: one is made, and the others are 409 with the current state: %s',
    async (route) => {
      const [method] = at(route);
      const { path, body, present } = await versioned[route]!();
      const answers = await Promise.all(
        Array.from({ length: 5 }, (_, n) => admin(method, path, body(n), { 'if-match': '"1"' })),
      );
      expect(inOrder(answers)).toEqual([200, 409, 409, 409, 409]);
      const winner = answers.find(({ status }) => status === 200)?.data;
      const isGone = method === 'DELETE' && present === undefined;
      const now = present === undefined ? winner : dataOf(await admin('GET', present));
      for (const { status, error, data } of answers) {
        if (status === 200) continue;
        expect(error).toMatchObject({ code: 'conflict' });
        expect(data).toEqual(isGone ? null : now);
      }
      if (!isGone) expect(winner).toMatchObject(now as object);
    },
  );

  it.each(Object.keys(versioned))(
    'with something other than a version in quotes: the route says in the same words what it takes: %s',
    async (route) => {
      const [method] = at(route);
      const { path, body } = await versioned[route]!();
      const message = '`If-Match` must name a version in quotes, such as "3".';
      for (const given of ['"x"', '"0"', '"01"', '"1000000000"', '"1", "2"', '*', '""'])
        expect(await admin(method, path, body(1), { 'if-match': given })).toMatchObject({
          status: 400,
          error: { code: 'invalid_request', param: 'if-match', message },
        });
    },
  );

  it.each(Object.keys(unversioned))(
    'without a version: the route refuses `If-Match` with 400: %s',
    async (route) => {
      const [method, path] = at(route);
      const answer = await admin(method, path.replaceAll(/:\w+/g, 'x'), unversioned[route], {
        'if-match': '"1"',
      });
      expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_request', param: 'if-match' } });
    },
  );

  it.each([
    ['users', () => ({ email: `${randomUUID()}@example.com` })],
    ['teams', () => ({ team_id: anId() })],
    ['service-accounts', () => ({ service_account_id: anId(), team_id: 'platform' })],
  ])('that create the same one of %s: one creates it, and the others are 409 with it', async (kind, one) => {
    const body = one();
    const answers = await Promise.all([1, 2, 3, 4].map(() => admin('POST', `${root}/${kind}`, body)));
    expect(inOrder(answers)).toEqual([200, 409, 409, 409]);
    const made = answers.find(({ status }) => status === 200)?.data;
    for (const { data } of answers) expect(data).toEqual(made);
  });

  it('of a membership are made in sequence: each event’s state before is the state after the previous one', async () => {
    const [team, user] = [await aTeamPath(), await aUser()];
    const path = `${team}/members/${String(user['user_id'])}`;
    const roles = ['owner', 'member', undefined, 'owner', 'member', undefined] as const;
    const answers = await Promise.all(
      roles.map((role) => (role === undefined ? admin('DELETE', path) : admin('PUT', path, { role }))),
    );
    expect(inOrder(answers)).toEqual(Array(6).fill(200));
    const events = (await eventsOf(team.slice(team.lastIndexOf('/') + 1)))
      .filter(({ action }) => String(action).startsWith('team_member.'))
      .toReversed();
    expect(events.length).toBeGreaterThan(0);
    let before: unknown = null;
    for (const event of events) {
      expect(event['before_json']).toEqual(before);
      before = event['after_json'];
    }
    const { teams } = dataOf(await admin('GET', `${root}/users/${String(user['user_id'])}`));
    const last = (before as { role?: string } | null)?.role;
    expect((teams as Item[]).map(({ role }) => role)).toEqual(last === undefined ? [] : [last]);
  });
});
