import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { basicConfig } from '../support/gateway.ts';
import { axeViolations, pageScene } from './page-scene.ts';

const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      providers: [
        {
          id: 'up',
          type: 'compat',
          base_url: upstream,
          auth: { mode: 'bearer', token: 'a-token-0123456789' },
        },
        {
          id: 'cloud-a',
          type: 'cloud_a_platform',
          project_id: 'my-project',
          location: 'europe-west4',
          auth: { mode: 'bearer', token: 'a-token-0123456789' },
        },
      ],
      models: [
        {
          id: 'fast',
          routes: [
            {
              provider: 'up',
              upstream_model: 'simulated-slow',
              priority: 200,
              capabilities: { vision: false },
            },
            { provider: 'up', upstream_model: 'simulated-fast', priority: 100 },
            { provider: 'up', upstream_model: 'simulated-fast?status=500', priority: 300, enabled: false },
          ],
        },
        { id: 'on-platform', routes: [{ provider: 'cloud-a', upstream_model: 'google/gemini-2.5-flash' }] },
        { id: 'org/broken:1', routes: [{ provider: 'up', upstream_model: 'simulated-fast?status=500' }] },
      ],
    },
  }),
);

const row = (page: Page, name: string) =>
  page.getByRole('table', { name: 'Models' }).getByRole('row').filter({ hasText: name });

const capabilities = ['chat', 'responses', 'embeddings', 'streams', 'tools', 'vision', 'JSON schema'];

/** The rows of the capabilities of a route: what the file has, what is effective, and why not. */
async function capabilitiesOf(drawer: Locator, route: number) {
  const rows = drawer.getByRole('table', { name: `Capabilities of route ${route}` }).locator('tbody tr');
  await rows.first().waitFor();
  return Object.fromEntries(
    await Promise.all(
      (await rows.all()).map(
        async (each) =>
          [
            await each.getByRole('rowheader').textContent(),
            await each.getByRole('cell').allTextContents(),
          ] as const,
      ),
    ),
  );
}

describe('models on the page', () => {
  it('show the first route, its price or that it is unpriced, and the requests of the last day', async () => {
    await scene.chat();
    await scene.chat({ model: 'org/broken:1' });
    const page = await scene.open('/models');
    await row(page, 'fast').first().waitFor();
    expect(await row(page, 'up → simulated-fast').first().getByRole('cell').allTextContents()).toEqual([
      'fast ',
      'up → simulated-fast',
      '2 of 3',
      '0.15 in, 0.6 out 1 unpriced',
      'everything',
      '1',
      '0',
    ]);
    expect(await row(page, 'org/broken:1').getByRole('cell').allTextContents()).toEqual([
      'org/broken:1 ',
      'up → simulated-fast?status=500',
      '1',
      ' unpriced',
      'everything',
      '1',
      '1, 100.0 %',
    ]);
    const link = await row(page, 'org/broken:1').getByRole('link').first().getAttribute('href');
    expect(link).toContain('/observability/request-logs?model_key=org%2Fbroken%3A1&from=');
  });

  it('are filtered by id, provider and state, which are in the address', async () => {
    const page = await scene.open('/models');
    await row(page, 'org/broken:1').waitFor();
    await page.getByLabel('Full model id').fill('fast');
    await row(page, 'org/broken:1').waitFor({ state: 'detached' });
    expect(page.url()).toContain('model=fast');
    await page.getByRole('button', { name: 'Remove the filter Model: fast' }).click();
    await row(page, 'org/broken:1').waitFor();
    await page.getByLabel('Provider').selectOption('up');
    expect(page.url()).toContain('provider=up');
    await row(page, 'org/broken:1').waitFor();
    await page.getByLabel('State').selectOption('Disabled');
    await page.getByText('No model matches').waitFor();
    expect(page.url()).toContain('enabled=false');
  });

  it('show their routes in the order that requests use, each with its capabilities and why one is missing', async () => {
    const page = await scene.open('/models?open=fast');
    const drawer = page.getByRole('dialog', { name: 'Model fast' });
    await drawer.getByRole('heading', { name: /Its 3 routes/ }).waitFor();
    const headings = await drawer
      .getByRole('region', { name: /^Route/ })
      .getByRole('heading')
      .allTextContents();
    expect(headings).toEqual([
      'up → simulated-fast',
      'up → simulated-slow',
      'up → simulated-fast?status=500',
    ]);
    const all = Object.fromEntries(capabilities.map((name) => [name, ['yes', 'yes', '']]));
    const vision = ['no', 'no', "The route's `capabilities` set `vision` to false."];
    expect(await capabilitiesOf(drawer, 0)).toEqual({ ...all, vision });
    expect(await capabilitiesOf(drawer, 1)).toEqual(all);
    expect(await capabilitiesOf(drawer, 2)).toEqual(all);
    await drawer.getByText('disabled', { exact: true }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await scene.open('/models?open=on-platform');
    const lacks = (name: string) => [
      'yes',
      'no',
      `A generation model on \`cloud_a_platform\` does not serve \`${name}\`.`,
    ];
    expect(await capabilitiesOf(page.getByRole('dialog', { name: 'Model on-platform' }), 0)).toEqual({
      ...all,
      responses: lacks('responses'),
      embeddings: lacks('embeddings'),
    });
  });

  it('are tested by keyboard at the expense of a chosen owner, with the result and a link to the request log', async () => {
    const page = await scene.open('/models?open=fast');
    await page.getByRole('button', { name: 'Try it: route 1, up to simulated-fast' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Try fast' });
    await dialog.getByText('is charged to the owner that you choose').waitFor();
    await dialog.getByRole('button', { name: 'Send one test request' }).press('Enter');
    await dialog.getByText('Choose who pays for it.').waitFor();
    await dialog.getByRole('combobox').first().focus();
    await page.keyboard.type('a@example');
    await dialog.getByRole('option', { name: 'A a@example.com' }).waitFor();
    await page.keyboard.press('Enter');
    await dialog.getByText('is charged to A.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Send one test request' }).press('Enter');
    const result = dialog.getByRole('status', { name: 'Result' });
    await result.getByText('success, 200').waitFor();
    await result.getByText('up → simulated-fast', { exact: true }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    const [tested] = await scene.query<{ request_log_id: string; cost: string }>(
      `select request_log_id, cost_picousd::text as cost from usage_cost_events
       join users using (user_id) where email = 'a@example.com' and api_key_id is null`,
    );
    expect(tested?.request_log_id).toBeDefined();
    expect(await result.getByRole('link', { name: 'See its request log' }).getAttribute('href')).toBe(
      `/admin/observability/request-logs/${tested?.request_log_id}`,
    );
    expect(await dialog.getByRole('link', { name: 'create one under Keys' }).getAttribute('href')).toBe(
      '/admin/keys',
    );
  });

  it('show why a test request failed', async () => {
    const page = await scene.open(`/models?open=${encodeURIComponent('org/broken:1')}`);
    await page.getByRole('button', { name: 'Try this model' }).click();
    const dialog = page.getByRole('dialog', { name: 'Try org/broken:1' });
    await dialog.getByRole('combobox').first().fill('platform');
    await dialog.getByRole('option', { name: 'Platform' }).click();
    await dialog.getByRole('button', { name: 'Send one test request' }).click();
    await dialog.getByText('the upstream said 500').waitFor();
  });

  it.each(['light', 'dark'])('have no axe-core violations in the %s theme', async (theme) => {
    const page = await scene.open('/models');
    await page.evaluate(`localStorage.setItem('gateway.theme', '${theme}')`);
    await page.reload();
    await row(page, 'org/broken:1').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('tab', { name: 'Models' }).press('ArrowRight');
    const providers = page.getByRole('table', { name: 'Providers' });
    await providers.waitFor();
    expect(page.url()).toContain('view=providers');
    expect(await axeViolations(page)).toEqual([]);
    await providers.getByRole('link', { name: '4' }).first().click();
    await row(page, 'org/broken:1').waitFor();
    await page.evaluate("localStorage.removeItem('gateway.theme')");
  });

  it('show an error in the list and in the drawer, which loads after `Try again`', async () => {
    const page = await scene.open('/models');
    await page.route('**/api/v1/admin/models**', (route) => route.abort());
    await page.reload();
    await page.getByText('The gateway cannot be reached.').waitFor();
    await page.goto(`${scene.gateway().url}/admin/models?open=fast`);
    await page.getByRole('dialog').getByText('The gateway cannot be reached.').waitFor();
    await page.unroute('**/api/v1/admin/models**');
    await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: /Its 3 routes/ }).waitFor();
  });
});
