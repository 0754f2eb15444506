import { beforeAll, describe, expect, it } from '@jest/globals';
import { axeViolations } from './page-scene.ts';
import { searchOf } from './report-pages.ts';
import { count, requestsScene, rowsOf } from './requests-scene.ts';

const scene = requestsScene();
const root = '/observability/request-logs';
const listRoute = '**/api/v1/admin/observability/request-logs?*';

const tags = {
  'x-gateway-service': 'checkout',
  'x-gateway-component': 'cart',
  'x-gateway-env': 'prod',
  'x-gateway-tags': 'customer=acme',
};

beforeAll(async () => {
  const hello = [{ role: 'user', content: 'Hello' }];
  await scene.ask('/v1/chat/completions', { model: 'fast', messages: hello }, { 'x-request-id': 'r-fast' });
  await scene.ask(
    '/v1/chat/completions',
    { model: 'thinker', messages: hello, stream: true },
    { ...tags, 'x-request-id': 'r-tags' },
  );
  await scene.ask('/v1/chat/completions', { model: 'broken', messages: hello }, { 'x-request-id': 'r-502' });
  await scene.ask(
    '/v1/chat/completions',
    { model: 'unpriced', messages: hello },
    { 'x-request-id': 'r-free' },
  );
  await scene.query(
    `update request_logs set occurred_at = occurred_at - interval '3 hours' where request_id = 'r-free'`,
  );
});

describe('the list of requests', () => {
  it('shows outcome, model, provider, exact cost, pricing state and service, with `0` for zero and `n/a` for unknown', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    const text = async (id: string) => await rowsOf(page).filter({ hasText: id }).innerText();
    const [charged] = await scene.query<{ usd: string }>(
      `select trim_scale(cost_picousd / 1e12)::text as usd from usage_cost_events where request_id = 'r-fast'`,
    );
    expect(await text('r-fast')).toMatch(/200 success/);
    expect(await text('r-fast')).toContain(`${charged?.usd} USD`);
    expect(await text('r-fast')).toContain('0 / 0');
    expect(await text('r-502')).toMatch(/502 upstream_error/);
    expect(await text('r-502')).toContain('n/a');
    expect(await text('r-free')).toContain('unpriced');
    expect(await text('r-tags')).toMatch(/checkout\s*\/\s*prod/);
    const at = (await page.getByRole('table').getByRole('columnheader').allInnerTexts()).indexOf(
      'Model → provider',
    );
    for (const [id, model] of [
      ['r-fast', 'fast'],
      ['r-tags', 'thinker'],
      ['r-502', 'broken'],
      ['r-free', 'unpriced'],
    ] as const)
      expect(await rowsOf(page).filter({ hasText: id }).getByRole('cell').nth(at).textContent()).toBe(
        `${model} → up`,
      );
    expect(await page.locator('.facts').innerText()).toBe('4 requests that are kept, newest first');
  });

  it('has an optional `First token` column, with a time only for streamed requests', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    const title = page.getByRole('table').getByRole('columnheader', { name: 'First token', exact: true });
    expect(await title.count()).toBe(0);
    await page.locator('summary').filter({ hasText: 'Columns' }).click();
    const choice = page.getByLabel('First token', { exact: true });
    await choice.check();
    await title.waitFor();
    const at = (await page.getByRole('table').getByRole('columnheader').allInnerTexts()).indexOf(
      'First token',
    );
    const cell = async (id: string) =>
      rowsOf(page).filter({ hasText: id }).getByRole('cell').nth(at).innerText();
    expect(await cell('r-tags')).toMatch(/^[\d,]+ ms$/);
    expect(await cell('r-fast')).toBe('–');
    await choice.uncheck();
    await title.waitFor({ state: 'detached' });
  });

  it.each([
    ['Request id', 'request_id', 'r-fast', 1],
    ['Model', 'model_key', 'thinker', 1],
    ['Provider', 'provider_key', 'up', 4],
    ['Status', 'status_code', '502', 1],
    ['Error', 'error_code', 'upstream_error', 1],
    ['Service', 'service', 'checkout', 1],
    ['Environment', 'env', 'prod', 1],
    ['Component', 'component', 'cart', 1],
    ['Team id', 'team_id', 'nobody', 0],
    ['Service account id', 'service_account_id', 'worker', 0],
    ['Person id', 'user_id', 'user', 4],
    ['Key id', 'api_key_id', 'key', 4],
    ['Harness', 'agent_harness_key', 'other', 4],
    ['SHA-256 of a long request id', 'request_id_sha256', 'a'.repeat(64), 0],
  ])('filters by %s, with the filter in the address', async (label, name, value, found) => {
    const page = await scene.open(root);
    await count(page, 4);
    const [ids] = await scene.query<Record<string, string>>(
      `select user_id::text as user, api_key_id::text as key from request_logs limit 1`,
    );
    const wanted = ids?.[value] ?? value;
    const field = page.locator('.filters').getByLabel(label, { exact: true }).first();
    if (!(await field.isVisible())) await page.getByText('More filters').click();
    await field.fill(wanted);
    await page.waitForURL((url) => url.searchParams.get(name) === wanted);
    await count(page, found);
    await page.getByRole('button', { name: `Remove the filter ${label.replace(/ id$/, '')}` }).click();
    await count(page, 4);
    expect(searchOf(page)).toEqual({});
  });

  it('ignores blanks around a typed or pasted value, and leaves them in the field', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    const field = page.getByRole('searchbox', { name: 'Request id' });
    await field.fill(' r-fast ');
    await count(page, 1);
    expect(searchOf(page)).toEqual({ request_id: 'r-fast' });
    expect(await field.inputValue()).toBe(' r-fast ');
    await field.fill(' ');
    await count(page, 4);
    expect(searchOf(page)).toEqual({});
  });

  it('filters by failed and by not failed requests', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    const field = page.getByRole('combobox', { name: 'Failed' });
    await field.selectOption('Failed');
    await count(page, 1);
    expect(searchOf(page)).toEqual({ failed: 'true' });
    await field.selectOption('Not failed');
    await count(page, 3);
    await page.getByRole('button', { name: 'Remove the filter Failed: no' }).click();
    await count(page, 4);
  });

  it.each([
    ['Pricing state', 'pricing_status', 'unpriced', 1],
    ['In the ledger', 'in_ledger', 'no', 1],
    ['Owners', 'owner_kind', 'people', 4],
  ])('filters by %s from a list, and an unknown value is an error', async (label, name, choice, found) => {
    const page = await scene.open(root);
    await count(page, 4);
    await page.getByText('More filters').click();
    await page.getByRole('combobox', { name: label }).selectOption(choice);
    await page.getByText('More filters (1)').waitFor();
    await count(page, found);
    expect(Object.keys(searchOf(page))).toEqual([name]);
    await page.getByRole('button', { name: `Remove the filter ${label}: ${choice}` }).click();
    await count(page, 4);
    await scene.open(`${root}?${name}=nothing`);
    await page.getByText(`\`${name}\` must be one of`).waitFor();
  });

  it('has a note on requests that are not logged only if it is filtered by the ledger', async () => {
    const page = await scene.open(`${root}?in_ledger=true`);
    await count(page, 3);
    const facts = page.locator('.facts');
    expect(await facts.innerText()).toContain('requests that are not logged appear only in the reports');
    await page.getByRole('combobox', { name: 'Failed' }).selectOption('Failed');
    await page.getByRole('button', { name: 'Remove the filter In the ledger: yes' }).click();
    await count(page, 1);
    expect(await facts.innerText()).toBe('1 request that is kept, newest first');
  });

  it('filters by a tag when both its name and its value are set', async () => {
    const page = await scene.open(root);
    await page.getByText('More filters').click();
    await page.getByLabel('Tag', { exact: true }).fill('customer');
    await page.getByText('by its name and its value together').waitFor();
    await page.getByLabel('Tag value').fill('acme');
    await count(page, 1);
    expect(searchOf(page)).toEqual({ tag_key: 'customer', tag_value: 'acme' });
  });

  it('filters by a range relative to now, and by a custom range of two instants', async () => {
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 19);
    const page = await scene.open(root);
    await count(page, 4);
    await page.getByRole('button', { name: 'Last hour' }).click();
    await count(page, 3);
    expect(searchOf(page)).toEqual({ range: '1h' });
    await page.getByRole('button', { name: 'Last day' }).click();
    await count(page, 4);
    await page.getByRole('button', { name: 'Custom' }).click();
    const from = page.getByLabel('From (UTC)');
    await page.getByLabel('To (UTC, exclusive)').fill(hoursAgo(1));
    await count(page, 1);
    const twoHoursAgo = hoursAgo(2);
    await from.fill(twoHoursAgo);
    await count(page, 0);
    expect(searchOf(page)).toEqual({
      range: 'custom',
      from: `${twoHoursAgo}Z`,
      to: expect.stringMatching(/Z$/),
    });
    await from.fill(hoursAgo(4));
    await count(page, 1);
    await page.getByLabel('To (UTC, exclusive)').fill('');
    await count(page, 4);
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await count(page, 4);
  });

  it('adds a filter from a cell without opening the row', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    await rowsOf(page).filter({ hasText: 'r-tags' }).getByText('thinker').hover();
    await page.getByRole('button', { name: 'Only model thinker' }).click();
    await count(page, 1);
    expect(searchOf(page)).toEqual({ model_key: 'thinker' });
  });

  it('opens on a press beside a value, which the buttons of its filters cover only while the pointer comes from it', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    const value = rowsOf(page).filter({ hasText: 'r-tags' }).getByText('A', { exact: true });
    const box = await value.boundingBox();
    if (box === null) throw new Error('the owner is not shown');
    await page.mouse.click(box.x + box.width + 12, box.y + box.height / 2);
    await page.getByRole('dialog', { name: 'Request' }).waitFor();
    expect(Object.keys(searchOf(page))).toEqual(['open']);
  });

  it('adds an exclusion filter from a cell, with a chip that inverts or removes it', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    await rowsOf(page).filter({ hasText: 'r-tags' }).getByText('thinker').hover();
    await page.getByRole('button', { name: 'All but model thinker' }).click();
    await count(page, 3);
    expect(searchOf(page)).toEqual({ not_model_key: 'thinker' });
    await rowsOf(page).filter({ hasText: 'r-502' }).locator('.badge').hover();
    await page.getByRole('button', { name: 'All but status 502' }).click();
    await count(page, 2);
    expect(searchOf(page)).toEqual({ not_model_key: 'thinker', not_status_code: '502' });
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Invert Model is not: thinker' }).press('Enter');
    await count(page, 1);
    expect(searchOf(page)).toEqual({ model_key: 'thinker', not_status_code: '502' });
    await page.getByRole('button', { name: 'Remove the filter Model: thinker' }).click();
    await page.getByRole('button', { name: 'Remove the filter Status is not: 502' }).click();
    await count(page, 4);
    await rowsOf(page).first().getByText('A', { exact: true }).hover();
    await rowsOf(page).first().getByRole('button', { name: 'All but A' }).click();
    await page.getByRole('button', { name: 'Remove the filter Person is not: A' }).waitFor();
    await count(page, 0);
  });

  it.each([
    ['status_code=abc', 'Status', 'from 100 to 599'],
    ['to=yesterday', 'To (UTC, exclusive)', '`to` must be an instant'],
    ['from=yesterday', 'From (UTC)', '`from` must be an instant'],
    ['api_key_id=laptop', 'Key id', '`api_key_id` must be a UUID'],
  ])('shows the error of an invalid filter at its field alone: %s', async (query, label, says) => {
    const page = await scene.open(`${root}?${query}`);
    await page.locator('.filters').getByRole('alert').getByText(says).waitFor();
    expect(await page.getByLabel(label, { exact: true }).getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByRole('alert').count()).toBe(1);
  });

  it('shows the error of an invalid filter without a field instead of the list', async () => {
    const page = await scene.open(`${root}?not_user_id=me`);
    await page.getByRole('alert').getByText('`not_user_id` must be a UUID').waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
  });

  it('saves filters as a named view, opens it again, and removes it', async () => {
    const page = await scene.open(`${root}?status_code=502&not_model_key=fast`);
    await count(page, 1);
    await page.getByText('Saved views').click();
    await page.getByLabel('Name for these filters').fill('Upstream faults');
    await page.getByRole('button', { name: 'Save view' }).click();
    await scene.open(root);
    await count(page, 4);
    await page.getByText('Saved views (1)').click();
    await page.getByRole('link', { name: 'Upstream faults' }).click();
    await count(page, 1);
    expect(searchOf(page)).toEqual({ status_code: '502', not_model_key: 'fast' });
    await page.getByText('Saved views (1)').click();
    await page.getByRole('button', { name: 'Remove the view Upstream faults' }).click();
    expect(await page.evaluate(`localStorage.getItem('gateway.views.request-logs')`)).toBe('[]');
  });

  it('opens and closes a row by keyboard, and the focus returns to the row', async () => {
    const page = await scene.open(root);
    await count(page, 4);
    await rowsOf(page).first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Request' }).waitFor();
    expect(searchOf(page)['open']).toBe(await scene.logIdOf('r-tags'));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(searchOf(page)).toEqual({});
    expect(await page.evaluate('document.activeElement.textContent')).toContain('r-tags');
  });

  it('shows a hint if nothing matches or nothing is logged, and an error with a retry button', async () => {
    const page = await scene.open(`${root}?model_key=none`);
    await page.getByText('No request matches all filters').waitFor();
    await page.route(listRoute, (route) =>
      route.fulfill({ status: 500, json: { error: { message: 'It broke', code: 'internal_error' } } }),
    );
    await scene.open(root);
    await page.getByText('It broke').waitFor();
    await page.unroute(listRoute);
    await page.route(listRoute, (route) =>
      route.fulfill({
        json: {
          data: { items: [], page: 1, page_size: 50, total: 0, total_is_lower_bound: false },
          meta: { generated_at: new Date().toISOString() },
        },
      }),
    );
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No request has been logged yet').waitFor();
    await page.getByLabel('A first request').getByText('/v1/chat/completions').waitFor();
    await page.unroute(listRoute);
  });

  it.each(['light', 'dark'])('has no axe-core violations in the %s theme', async (theme) => {
    const page = await scene.open(`${root}?model_key=thinker&status_code=200&range=24h`);
    await page.evaluate(`localStorage.setItem('gateway.theme', '${theme}')`);
    await page.reload();
    await count(page, 1);
    await page.getByText('More filters').click();
    await page.getByText('Saved views').click();
    expect(await axeViolations(page)).toEqual([]);
    await page.evaluate(`localStorage.removeItem('gateway.theme')`);
  });
});

describe('the live tail', () => {
  it('shows new requests, waits while the pointer or the focus is on the list, and can be paused', async () => {
    const page = await scene.open(`${root}?service=tail`);
    await page.getByText('No request matches all filters').waitFor();
    const come = (id: string) =>
      scene.ask(
        '/v1/chat/completions',
        { model: 'fast', messages: [{ role: 'user', content: 'Hi' }] },
        { 'x-gateway-service': 'tail', 'x-request-id': id },
      );
    await page.getByRole('button', { name: 'Live tail' }).click();
    await page.mouse.move(5, 5);
    expect(searchOf(page)['live']).toBe('on');
    await come('t-1');
    await count(page, 1);
    await page.getByText(/Live, [0-3] s behind/).waitFor();

    await rowsOf(page).first().hover();
    await page.getByText(/waits while you point at the list, \d+ s behind/).waitFor();
    await come('t-2');
    await page.getByText(/waits while you point at the list, (?:[3-9]|\d\d) s behind/).waitFor();
    expect(await rowsOf(page).count()).toBe(1);
    await page.mouse.move(5, 5);
    await count(page, 2);

    await rowsOf(page).first().focus();
    await page.getByText('waits while a row has the focus').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.mouse.move(5, 5);
    await page.getByText(/Paused, (?:[3-9]|\d\d) s behind/).waitFor();
    await come('t-3');
    expect(await rowsOf(page).count()).toBe(2);
    await page.getByRole('button', { name: 'Resume' }).click();
    await count(page, 3);
  });
});
