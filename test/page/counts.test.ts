import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../e2e/traces.ts';
import { requestsScene } from './requests-scene.ts';

const scene = requestsScene();

beforeAll(async () => {
  const ask = (body: object, headers: Readonly<Record<string, string>>) =>
    scene.ask('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }], ...body }, headers);
  const asWorker = { 'x-api-key': await workersKey() };
  for (const headers of [{}, asWorker]) {
    for (const model of ['fast', 'fast', 'unpriced', 'broken', 'nowhere']) await ask({ model }, headers);
    await ask({ model: 'silent', stream: true }, headers);
  }
  await ask({ model: 'broken' }, { 'x-request-id': 'r-late' });
  await scene.query(
    `update request_logs set status_code = 504, error_code = 'upstream_timeout' where request_id = 'r-late'`,
  );
  // Older than the hours of the overview, and less than a day old.
  await ask({ model: 'unpriced' }, { 'x-request-id': 'r-old' });
  const [old] = await scene.query<{ at: Date }>(
    `select date_bin('1 hour', gateway_now(), timestamptz '2000-01-01 00:00:00+00') - interval '82801 s' as at`,
  );
  for (const table of ['request_logs', 'usage_cost_events'])
    await scene.query(`update ${table} set occurred_at = $1 where request_id = 'r-old'`, [old?.at]);
  await scene.query('truncate usage_rollups');
  await scene.query(
    `insert into usage_rollups
     select rollup_bucket(occurred_at), ownership_scope_key, model_key, pricing_status, user_id, max(team_id), count(*), 0
     from usage_cost_events group by 1, 2, 3, 4, 5`,
  );
});

/** Creates a key of the service account, and waits until it is accepted. */
async function workersKey(): Promise<string> {
  const { data } = await scene.admin('POST', '/api/v1/admin/api-keys', {
    name: 'nightly',
    owner_kind: 'service_account',
    owner_id: 'worker',
    allowed_models: [],
  });
  const { api_key: key } = data as { readonly api_key: string };
  const models = () => fetch(`${scene.gateway().url}/v1/models`, { headers: { 'x-api-key': key } });
  while ((await models()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 100));
  return key;
}

/** The count that a link shows, alone or with its name; undefined if it shows none. */
function countIn(text: string): number | undefined {
  const [, count] = /^(?:\D.*: )?(\d[\d,]*)(?: [a-z]+)?$/.exec(text.trim()) ?? [];
  return count === undefined ? undefined : Number(count.replaceAll(',', ''));
}

describe('the page', () => {
  it.each([
    ['the overview', '/', 9],
    ['the spend', '/spend', 15],
    ['the spend of people', '/spend?owner_kind=user', 12],
    ['the spend of teams', '/spend?owner_kind=team', 12],
    ['the leaderboard', '/observability/leaderboard', 1],
    ['the harnesses', '/observability/harnesses', 1],
    ['the models', '/models', 5],
  ])('links each count to a list of as many requests: %s', async (_, path, atLeast) => {
    const page = await scene.open(path);
    await page.waitForLoadState('networkidle');
    const shown = page.locator('main a[href*="/observability/request-logs?"]');
    // The network is idle a moment before the last of its answers is drawn.
    await eventually(async () => {
      const texts = await shown.allTextContents();
      return texts.filter((text) => countIn(text) !== undefined).length >= atLeast ? true : undefined;
    });
    for (const link of await shown.all()) {
      const text = ((await link.textContent()) ?? '').trim();
      const count = countIn(text);
      if (count === undefined) continue;
      const href = (await link.getAttribute('href')) ?? '';
      const list = await scene.admin(
        'GET',
        `/api/v1/admin/observability/request-logs${new URL(href, page.url()).search}`,
      );
      expect([text, href, (list.data as { readonly total: number }).total]).toEqual([text, href, count]);
    }
  });
});
