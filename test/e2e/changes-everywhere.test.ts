import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { adminClient } from '../support/admin.ts';
import { timed } from '../support/undisturbed.ts';
import { adminObjectsScene, dataOf, type Item, itemsOf } from './admin-objects-scene.ts';

const { admin, aUser, aKeyOf, soon, statuses, query, replicas } = adminObjectsScene();
const root = '/api/v1/admin';
const idOf = (item: Item, name: string): string => String(item[name]);

/** Makes a change over the API; throws unless its status is 200. */
async function change(method: string, path: string, body?: object): Promise<Item> {
  return dataOf(await admin(method, `${root}${path}`, body));
}

async function aTeam(): Promise<string> {
  const id = `t-${randomUUID()}`;
  await change('POST', '/teams', { team_id: id });
  return id;
}

async function anAccount(team: string): Promise<string> {
  const id = `s-${randomUUID()}`;
  await change('POST', '/service-accounts', { service_account_id: id, team_id: team });
  return id;
}

const aKey = async (kind: string, id: string) => aKeyOf({ owner_kind: kind, owner_id: id });
const nothingLeft = { cadence: 'daily', amount_10000: 0, hard_limit: true };

/** A key that works at first, the change, and the status of the key's requests after it. */
interface Pipeline {
  readonly key: Item & { readonly api_key: string };
  readonly change: () => Promise<unknown>;
  readonly status: number;
}

async function ofKey(act: (path: string) => Promise<unknown>, status: number): Promise<Pipeline> {
  const key = await aKeyOf();
  return { key, change: () => act(`/api-keys/${idOf(key, 'api_key_id')}`), status };
}

async function ofUser(act: (id: string) => Promise<unknown>, status: number): Promise<Pipeline> {
  const id = idOf(await aUser(), 'user_id');
  return { key: await aKey('user', id), change: () => act(id), status };
}

async function ofTeam(act: (id: string) => Promise<unknown>, status: number): Promise<Pipeline> {
  const id = await aTeam();
  return { key: await aKey('team', id), change: () => act(id), status };
}

async function ofAccount(act: (id: string) => Promise<unknown>, status: number): Promise<Pipeline> {
  const id = await anAccount(await aTeam());
  return { key: await aKey('service_account', id), change: () => act(id), status };
}

const off = { active: false };
const limit = { requests_per_minute: 1 };

const pipelines: Readonly<Record<string, () => Promise<Pipeline>>> = {
  'a key is revoked': () => ofKey((path) => change('DELETE', path), 401),
  'a key is rotated': () => ofKey((path) => change('POST', `${path}/rotate`, {}), 401),
  'a key may use other models': () =>
    ofKey(async (path) => {
      await query(`insert into models (model_key) values ('other')`);
      await change('PATCH', path, { allowed_models: ['other'] });
    }, 403),
  'a user is deactivated': () => ofUser((id) => change('PATCH', `/users/${id}`, off), 401),
  'a team is deactivated': () => ofTeam((id) => change('PATCH', `/teams/${id}`, off), 401),
  'the team of a service account is deactivated': () =>
    ofAccount(async (id) => {
      const account = await change('GET', `/service-accounts/${id}`);
      await change('PATCH', `/teams/${idOf(account, 'team_id')}`, off);
    }, 401),
  'a service account is deactivated': () =>
    ofAccount((id) => change('PATCH', `/service-accounts/${id}`, off), 401),
  'a service account moves to a team that has nothing left': () =>
    ofAccount(async (id) => {
      const other = await aTeam();
      await change('PUT', `/spend/budgets/teams/${other}`, nothingLeft);
      await change('PATCH', `/service-accounts/${id}`, { team_id: other });
    }, 429),
  'a limit of a key is set': () => ofKey((path) => change('PUT', `/rate-limits${path}`, limit), 429),
  'a limit of a user is set': () => ofUser((id) => change('PUT', `/rate-limits/users/${id}`, limit), 429),
  'a limit of a team is set': () => ofTeam((id) => change('PUT', `/rate-limits/teams/${id}`, limit), 429),
  'a budget of a user is set': () =>
    ofUser((id) => change('PUT', `/spend/budgets/users/${id}`, nothingLeft), 429),
  'a budget of a team is set': () =>
    ofTeam((id) => change('PUT', `/spend/budgets/teams/${id}`, nothingLeft), 429),
};

describe('a change over the API', () => {
  it.each(Object.keys(pipelines))('is in force on every replica within 5 seconds: %s', async (name) => {
    const pipeline = await pipelines[name]!();
    await soon(pipeline.key.api_key, 200);
    await pipeline.change();
    await soon(pipeline.key.api_key, pipeline.status);
  });

  it('of request_logging_enabled ends the logging of a user on every replica within 5 seconds', async () => {
    const id = idOf(await aUser(), 'user_id');
    const key = await aKey('user', id);
    await soon(key.api_key, 200);
    const logs = async () => (await query('select from request_logs where user_id = $1', [id])).length;
    expect(await logs()).toBeGreaterThan(0);
    await change('PATCH', `/users/${id}`, { request_logging_enabled: false });
    await timed(async (soFarMs) => {
      for (;;) {
        const before = await logs();
        expect(await statuses(key.api_key)).toEqual([200, 200]);
        if ((await logs()) === before) break;
        expect(soFarMs()).toBeLessThan(5000);
      }
    });
  });

  it('of a membership or a role is in force on every replica at once', async () => {
    const [team, user] = [await aTeam(), await aUser()];
    const id = idOf(user, 'user_id');
    const other = await adminClient(replicas[1]!.url);
    const recipients = async () => {
      const teams = dataOf(await other('GET', `${root}/spend/budgets`))['teams'] as readonly Item[];
      return teams.find(({ team_id: teamId }) => teamId === team)?.['alert_recipients'];
    };
    expect(await recipients()).toEqual([]);
    await change('PUT', `/teams/${team}/members/${id}`, { role: 'owner' });
    expect(await recipients()).toEqual([user['email']]);
    const members = async () => itemsOf(await other('GET', `${root}/users?team_id=${team}`));
    expect((await members()).map((each) => each['user_id'])).toEqual([id]);
    await change('DELETE', `/teams/${team}/members/${id}`);
    expect([await recipients(), await members()]).toEqual([[], []]);

    const token = await change('POST', '/tokens', { name: 't', scope: 'read' });
    await change('PATCH', `/users/${id}`, { role: 'platform_admin' });
    await query('update admin_tokens set user_id = $1 where admin_token_id = $2', [
      id,
      token['admin_token_id'],
    ]);
    const statusAt = async (url: string): Promise<number> => {
      const headers = { authorization: `Bearer ${idOf(token, 'token')}` };
      const answer = await fetch(`${url}${root}/teams`, { headers });
      await answer.text();
      return answer.status;
    };
    const everywhere = () => Promise.all(replicas.map(({ url }) => statusAt(url)));
    expect(await everywhere()).toEqual([200, 200]);
    await change('PATCH', `/users/${id}`, { role: 'user' });
    expect(await everywhere()).toEqual([401, 401]);
  });
});
