import { describe, expect, it } from '@jest/globals';
import createClient from 'openapi-fetch';
import { simulatedScene } from '../e2e/simulated-scene.ts';
import { account, makeAdmin } from '../support/admin.ts';
import { aKey, basicConfig } from '../support/gateway.ts';
import type { paths } from '../../interfaces/admin-page/src/api/api.d.ts';

const key = aKey();
const scene = simulatedScene((upstream) => basicConfig(upstream, key));

/** A client whose calls, bodies and responses have types generated from the description of the API. */
const client = (headers: Record<string, string> = {}) =>
  createClient<paths>({ baseUrl: scene.gateway().url, headers });

describe('a client generated from the description of the API', () => {
  it('logs in, sets a budget and reads it back, and receives the error code for an unknown team', async () => {
    await makeAdmin(scene.databaseUrl());
    const login = await client().POST('/api/v1/auth/login', { body: account });
    expect(login.data?.data.role).toBe('platform_admin');
    const cookie = (login.response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const admin = client({ cookie, 'sec-fetch-site': 'same-origin' });
    const set = await admin.PUT('/api/v1/admin/spend/budgets/teams/{team_id}', {
      params: { path: { team_id: 'platform' } },
      body: { cadence: 'weekly', amount_10000: 12_000_000, hard_limit: true, timezone: 'UTC' },
    });
    expect(set.data?.data.budget?.amount_usd).toBe('1200');
    const { data } = await admin.GET('/api/v1/admin/spend/budgets');
    expect(data?.data.teams.find(({ team_id }) => team_id === 'platform')?.budget?.cadence).toBe('weekly');
    const wrong = await admin.GET('/api/v1/admin/spend/budgets/teams/{team_id}/history', {
      params: { path: { team_id: 'nobody' } },
    });
    expect(wrong.error?.error.code).toBe('not_found');
  });

  it('sends a chat completion and lists the models of its key', async () => {
    const caller = client({ authorization: `Bearer ${key}` });
    const answer = await caller.POST('/v1/chat/completions', {
      body: { model: 'fast', messages: [{ role: 'user', content: 'Hi' }] },
    });
    expect(answer.data).toHaveProperty('choices');
    const models = await caller.GET('/v1/models');
    expect(models.data?.data.map(({ id }) => id)).toEqual(['fast']);
  });
});
