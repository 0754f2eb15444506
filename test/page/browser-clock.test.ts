import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { logIn, pageScene } from './page-scene.ts';
import { count } from './requests-scene.ts';

const scene = pageScene();
const hourMs = 3_600_000;

/** The page at this path, in a browser whose clock is wrong by this much. */
async function openWith(aheadMs: number, path: string): Promise<Page> {
  const page = await scene.stranger();
  await page.addInitScript(`{ const now = Date.now; Date.now = () => now() + ${aheadMs}; }`);
  await page.goto(`${scene.gateway().url}/admin${path}`);
  await logIn(page);
  return page;
}

describe('a browser with a wrong clock', () => {
  it.each([2 * hourMs, -2 * hourMs])(
    'lists the requests of the last hour by the time of the gateway (ahead by %i ms)',
    async (aheadMs) => {
      await scene.query('delete from request_logs');
      await (await scene.chat()).text();
      await (await scene.chat()).text();
      await scene.query(
        `update request_logs set occurred_at = occurred_at - interval '90 minutes'
         where request_log_id = (select min(request_log_id::text)::uuid from request_logs)`,
      );
      const page = await openWith(aheadMs, '/observability/request-logs?range=1h');
      await count(page, 1);
      await page.context().close();
    },
  );

  it('says of an expired key that it is expired, and not that its owner is inactive', async () => {
    await scene.query(`update api_keys set expires_at = now() - interval '1 minute'`);
    const page = await openWith(-2 * hourMs, '/keys');
    const row = page.getByRole('table', { name: 'Keys' }).locator('tbody tr');
    await row.first().waitFor();
    expect(await row.first().innerText()).toContain('expired');
    await page.context().close();
  });
});
