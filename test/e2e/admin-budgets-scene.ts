import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { withAdmin } from '../support/admin.ts';
import { aKey, basicConfig, type ConfigFile, type TestGateway, pricedAt } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

export const keys = { user: aKey(), team: aKey(), account: aKey() };

export const root = '/api/v1/admin/spend';
export const terms = (amount_10000: number, over: object = {}) => ({
  cadence: 'daily',
  amount_10000,
  hard_limit: true,
  ...over,
});

export const today = () => new Date(new Date().setUTCHours(0, 0, 0, 0)).toISOString();
export const tomorrow = () => new Date(new Date().setUTCHours(24, 0, 0, 0)).toISOString();
export const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const budgetIdIn = (data: unknown): unknown =>
  (data as { budget: { budget_id: unknown } }).budget.budget_id;

/** At 0.10 USD per million tokens, 1000 prompt tokens cost one unit of `amount_10000`. */
const config = (upstreamUrl: string): ConfigFile =>
  basicConfig(upstreamUrl, keys.user, {
    route: { extra_headers: { 'x-simulate': 'usage=last&prompt-tokens=1000&completion-tokens=0' } },
    more: {
      pricing: pricedAt('0.10', '0'),
      teams: [
        { id: 'platform', name: 'Platform' },
        { id: 'a/b:c@d', name: 'Odd' },
      ],
      service_accounts: [{ id: 'ci', team: 'platform' }],
      users: [
        { email: 'a@example.com', name: 'A' },
        { email: 'owner@example.com', name: 'O', team: 'platform', team_role: 'owner' },
      ],
      api_keys: [
        { name: 'user', owner: 'user:a@example.com', value: keys.user },
        { name: 'team', owner: 'team:platform', value: keys.team },
        { name: 'account', owner: 'service_account:ci', value: keys.account },
      ],
    },
  });

interface History {
  readonly budget_id: string;
  readonly cadence: string;
  readonly amount_10000: string;
  readonly active: boolean;
  readonly deactivated_at: Date | null;
}

/** Two replicas: the admin uses the first one, callers use the second one. */
export function adminBudgetsScene() {
  const { query, gateway, another, databaseUrl } = simulatedScene(config);
  const second = another();
  const replicas = (): readonly [TestGateway, TestGateway] => [gateway(), second()];
  const admin = withAdmin(databaseUrl, gateway);

  /** Inserts a new user, so that tests do not share budgets. */
  async function aUser(): Promise<{
    readonly userId: string;
    readonly email: string;
    readonly path: string;
  }> {
    const email = `${randomUUID()}@example.com`;
    const [row] = await query<{ user_id: string }>(
      `insert into users (email, name) values ($1, 'U') returning user_id`,
      [email],
    );
    const userId = row?.user_id ?? '';
    return { userId, email, path: `${root}/budgets/users/${userId}` };
  }
  const userIdOf = async (email: string): Promise<string> =>
    (await query<{ user_id: string }>('select user_id from users where email = $1', [email]))[0]?.user_id ??
    '';

  const historyOf = (userId: string): Promise<History[]> =>
    query<History>('select * from user_budgets where user_id = $1 order by created_at, active', [userId]);

  async function ask(key: string): Promise<{ status: number; headers: Headers; text: string }> {
    const answer = await fetch(`${second().url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  return { query, replicas, admin, aUser, userIdOf, historyOf, ask };
}
