import { beforeAll, describe, expect, it } from '@jest/globals';
import { pageScene } from './page-scene.ts';
import { axeInBothThemes, csvOf, searchOf, sidewaysAt360, whileFailing } from './report-pages.ts';

const scene = pageScene();
let userId = '';
let rootId = '';

const idOf = async (name: string) =>
  (await scene.query<{ user_id: string }>(`select user_id from users where email = '${name}'`))[0]?.user_id ??
  '';
const setBudget = (amount: number) =>
  scene.admin('PUT', `/api/v1/admin/spend/budgets/users/${userId}`, {
    cadence: 'daily',
    amount_10000: amount,
    hard_limit: false,
    timezone: 'UTC',
  });
const rowsIn = (page: Awaited<ReturnType<typeof scene.open>>) =>
  page.getByRole('region', { name: 'Audit', exact: true }).locator('tbody tr');

beforeAll(async () => {
  userId = await idOf('a@example.com');
  rootId = await idOf('root@example.com');
  await setBudget(10_000);
  await setBudget(20_000);
  await scene.admin('POST', '/api/v1/admin/teams', { team_id: 'research', name: 'Research' });
});

describe('the audit', () => {
  it('lists the changes, the newest first, with who made them', async () => {
    const page = await scene.open('/audit');
    const lines = await csvOf(page, 'Audit');
    expect(lines.slice(1, 4).map((line) => line.split(',').slice(1, 5))).toEqual([
      [rootId, 'team.create', 'team', 'research'],
      [rootId, 'budget.set', 'user', userId],
      [rootId, 'budget.set', 'user', userId],
    ]);
    await rowsIn(page).first().getByText('root@example.com').waitFor();
    await rowsIn(page).last().getByText('command line').waitFor();
  });

  it('has each filter in the address, also after a reload, and can remove it', async () => {
    const page = await scene.open('/audit');
    await page.locator('.filters').getByLabel('Action').selectOption('budget.set');
    await page.waitForURL('**action=budget.set');
    await expectRows(2);
    await page.locator('.filters').getByLabel('Kind').selectOption('team');
    await page.getByText('No change matches these filters').waitFor();
    expect(searchOf(page)).toEqual({ action: 'budget.set', target_kind: 'team' });
    await page.getByRole('button', { name: 'Remove the filter Action: budget.set' }).click();
    await expectRows(1);
    await page.getByRole('button', { name: 'Remove the filter Kind: team' }).click();
    await page.locator('.filters').getByLabel('Id of what was changed').fill(userId);
    await page.waitForURL(`**target_id=${userId}`);
    await expectRows(2);
    await page.locator('.filters').getByLabel("Actor's user id").fill(rootId);
    await page.waitForURL(`**actor_user_id=${rootId}`);
    await expectRows(2);
    await page.locator('.filters').getByLabel('From (UTC)').fill('2099-01-01T00:00');
    await page.getByText('No change matches these filters').waitFor();
    expect(searchOf(page)['from']).toBe('2099-01-01T00:00:00Z');
    await page.locator('.filters').getByLabel('From (UTC)').fill('2020-01-01T00:00');
    await page.locator('.filters').getByLabel('To (UTC, exclusive)').fill('2099-01-01T12:30');
    await page.waitForURL('**to=2099-01-01T12%3A30%3A00Z');
    await expectRows(2);
    await page.reload();
    await expectRows(2);
    expect(await page.locator('.filters').getByLabel('To (UTC, exclusive)').inputValue()).toBe(
      '2099-01-01T12:30',
    );
  });

  it('applies each part of a time as it is typed, with one entry in the browser history for all of them', async () => {
    for (const path of ['/audit', '/observability/request-logs']) {
      const page = await scene.open('/');
      for (const [part, typed, is] of parts) {
        await scene.open(`${path}?from=2026-11-02T10%3A00%3A00Z`);
        const from = page.locator('.filters').getByLabel('From (UTC)');
        await from.focus();
        for (let before = 0; before < part; before += 1) await page.keyboard.press('Tab');
        // Slower than a response, faster than a pause in typing.
        await page.keyboard.type(typed, { delay: 120 });
        await page.waitForURL(`**from=${encodeURIComponent(`${is}:00Z`)}*`);
        expect(await from.inputValue()).toBe(is);
      }
      await page.goBack();
      expect(searchOf(page)['from']).toBe('2026-11-02T10:00:00Z');
      await page.goBack();
      expect(searchOf(page)['from']).toBe('2026-11-02T11:00:00Z');
    }
  });

  it('shows each changed field before and after, and the unchanged fields', async () => {
    const page = await scene.open('/audit?action=budget.set');
    await rowsIn(page).first().focus();
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog', { name: 'budget.set' });
    const changed = drawer.getByRole('region', { name: 'What changed' });
    const amount = changed.getByRole('row').filter({ hasText: 'amount_10000' });
    expect(await amount.locator('del').textContent()).toBe('10000');
    expect(await amount.locator('ins').textContent()).toBe('20000');
    expect(await changed.getByText('cadence').count()).toBe(0);
    await drawer.getByText('unchanged').click();
    await drawer.getByRole('region', { name: 'Unchanged fields' }).getByText('cadence').waitFor();
    expect(await axeInBothThemes(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    expect(searchOf(page)).toEqual({ action: 'budget.set' });
  });

  it('keeps an open change, also when newer ones have moved it to the next page', async () => {
    const write = (from: number, to: number) =>
      scene.query(`insert into admin_events (action, target_kind, target_id)
        select 'model.test', 'model', 'event-' || n from generate_series(${from}, ${to}) n`);
    await write(1, 1);
    const page = await scene.open('/audit?action=model.test');
    await rowsIn(page).first().click();
    const link = page.getByRole('dialog', { name: 'model.test' }).getByRole('link', { name: 'event-1' });
    await link.waitFor();
    await write(2, 51);
    await page.context().setOffline(true);
    await page.context().setOffline(false);
    await rowsIn(page).nth(49).waitFor({ state: 'attached' });
    await link.waitFor();
  });

  it('opens a change by its link, whatever the list shows', async () => {
    const [oldest] = await scene.query<{ id: string }>(
      `insert into admin_events (action, target_kind, target_id, occurred_at)
       values ('mail.test', 'model', 'the-oldest', '2020-01-01Z') returning admin_event_id as id`,
    );
    await scene.query(`insert into admin_events (action, target_kind, target_id)
      select 'model.test', 'model', 'filler' from generate_series(1, 60)`);
    for (const filter of ['', 'action=team.create&']) {
      const page = await scene.open(`/audit?${filter}open=${oldest?.id}`);
      await page
        .getByRole('dialog', { name: 'mail.test' })
        .getByRole('link', { name: 'the-oldest' })
        .waitFor();
    }
    const page = await scene.open('/audit?open=01234567-89ab-7def-8123-456789abcdef');
    await page.getByRole('dialog').getByText('There is no change with this id.').waitFor();
  });

  it('shows the present name of a person who was renamed a moment ago', async () => {
    const page = await scene.open('/audit?action=team.create');
    await rowsIn(page).last().getByText('root@example.com').waitFor();
    await page.getByRole('link', { name: 'People', exact: true }).click();
    await page.getByRole('row', { name: 'root@example.com' }).click();
    await page.getByRole('button', { name: 'Change…' }).click();
    await page.getByRole('dialog').last().getByLabel('Name', { exact: true }).fill('Renamed Root');
    await page.getByRole('button', { name: 'Save person' }).click();
    await page.getByText('Renamed Root was changed.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Audit', exact: true }).first().click();
    await rowsIn(page).first().getByText('Renamed Root').waitFor({ timeout: 5_000 });
    await scene.query(`update users set name = email where email = 'root@example.com'`);
  });

  it('links a change to what was changed, and to all changes of it', async () => {
    const page = await scene.open('/audit?action=team.create');
    await rowsIn(page).first().focus();
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog');
    const link = drawer.getByRole('link', { name: 'research' });
    expect(await link.getAttribute('href')).toBe('/admin/teams?open=research');
    expect(await drawer.locator('del').count()).toBe(0);
    await drawer.getByRole('button', { name: 'All changes to this team' }).click();
    await page.waitForURL('**target_id=research');
    await scene.open(`/audit?target_id=${userId}`);
    const budget = rowsIn(page).first().getByRole('link').last();
    expect(await budget.getAttribute('href')).toBe(`/admin/budgets?open=${userId}`);
  });

  it('shows the error of an invalid filter at its field alone', async () => {
    const page = await scene.open('/audit?action=team.create');
    await page.locator('.filters').getByLabel("Actor's user id").fill('nobody');
    const fault = page.locator('.filters').getByRole('alert');
    await fault.waitFor();
    expect(await fault.textContent()).toContain('must be a UUID');
    const field = page.locator('.filters').getByLabel("Actor's user id");
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    await scene.open('/audit?from=yesterday');
    await fault.waitFor();
    expect(await fault.textContent()).toContain('must be an instant of RFC 3339');
    await scene.open('/audit?action=nothing.such');
    await page.getByText('must be one of').waitFor();
  });

  it('shows an error with its request id, and loads after `Try again`', async () => {
    const page = scene.page();
    await whileFailing(page, '**/api/v1/admin/events*', async () => {
      await scene.open('/audit');
      await page.getByText('Request id request-of-the-fault').waitFor();
    });
    await page.getByRole('button', { name: 'Try again' }).click();
    await rowsIn(page).first().waitFor();
  });

  it('has no axe-core violations, and does not scroll sideways at 360 px', async () => {
    const page = await scene.open('/audit?target_kind=user');
    await rowsIn(page).first().waitFor();
    expect(await axeInBothThemes(page)).toEqual([]);
    expect(await sidewaysAt360(page)).toBe(0);
  });
});

/** Parts of a date-time field: the position of each, the typed text, and the value of the field after it. */
const parts = [
  [0, '12', '2026-12-02T10:00'],
  [1, '25', '2026-11-25T10:00'],
  [2, '2025', '2025-11-02T10:00'],
  [3, '11', '2026-11-02T11:00'],
  [4, '45', '2026-11-02T10:45'],
] as const;

/** Expects that `count` changes are listed. */
async function expectRows(count: number): Promise<void> {
  const page = scene.page();
  await page.getByText(`1–${count} of ${count}`).waitFor();
  expect(await rowsIn(page).count()).toBe(count);
}
