import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../e2e/traces.ts';
import { bearerChat, filtersOf, inBothThemes } from './owner-scene.ts';
import { axeViolations, pageScene } from './page-scene.ts';

const scene = pageScene();
const root = '/api/v1/admin/teams';
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const makeTeam = async (id: string, name = id) => {
  expect((await scene.admin('POST', root, { team_id: id, name })).status).toBe(200);
};
const teamNow = async (id: string) => (await scene.admin('GET', `${root}/${id}`)).data;
const roleOf = async (team: string): Promise<unknown> =>
  (
    await scene.query('select role from team_memberships where team_id = $1 and user_id = $2', [team, kim])
  )[0]?.['role'];

let kim: string;
beforeAll(async () => {
  const made = await scene.admin('POST', '/api/v1/admin/users', { email: 'kim@example.com', name: 'Kim' });
  kim = (made.data as { user_id: string }).user_id;
});

describe('the list of teams', () => {
  it('has each filter in the address, and links the number of members to the members', async () => {
    await makeTeam('list-a', 'Listed A');
    await makeTeam('list-b', 'Listed B');
    await scene.admin('PATCH', `${root}/list-b`, { active: false });
    const page = await scene.open('/teams');
    await page.locator('.filters').getByLabel('Name').fill('listed');
    await page.getByText('2 teams', { exact: true }).waitFor();
    await page.locator('.filters').getByLabel('State').selectOption('false');
    await page.getByText('1 team', { exact: true }).waitFor();
    expect(filtersOf(page)).toEqual({ name: 'listed', active: 'false' });
    expect(await page.getByRole('row', { name: 'Listed B' }).innerText()).toContain('inactive');
    await page.getByRole('link', { name: '0', exact: true }).click();
    await page.waitForURL(/people\?team_id=list-b/);
  });

  it('shows a message if there are no teams', async () => {
    const page = await scene.open('/');
    await page.route('**/api/v1/admin/teams?*', (route) => route.fulfill({ json: none }));
    await scene.open('/teams');
    await page.getByText('There are no teams yet').waitFor();
    await page.unroute('**/api/v1/admin/teams?*');
  });
});

const none = {
  data: { items: [], page: 1, page_size: 50, total: 0, total_is_lower_bound: false },
  meta: { generated_at: '2026-01-01T00:00:00.000Z' },
};

describe('a team', () => {
  it('is created, and an invalid id or one that is in use is an error at its field', async () => {
    const page = await scene.open('/teams');
    await button(page, 'New team').click();
    const id = page.getByRole('dialog').getByLabel('Id');
    await id.fill('not an id');
    await button(page, 'Create team').click();
    await page.getByText('must be an id of 1 to').first().waitFor();
    expect(await id.getAttribute('aria-invalid')).toBe('true');
    await id.fill('platform');
    await button(page, 'Create team').click();
    const inUse = page
      .getByRole('dialog')
      .locator('.field')
      .filter({ has: page.getByLabel('Id') });
    await inUse.getByRole('alert').getByText('There is a team of this id.').waitFor();
    expect(await id.getAttribute('aria-invalid')).toBe('true');
    await id.fill('created');
    await id.press('Enter');
    await page.getByRole('heading', { name: 'Team created' }).waitFor();
    expect(await teamNow('created')).toMatchObject({ name: 'created', active: true });
  });

  it('gets a member found by search, changes the role, and removes the member after confirmation', async () => {
    await makeTeam('crew');
    const page = await scene.open('/teams?open=crew');
    await button(page, 'Add a member…').click();
    const [kim] = await scene.query<{ id: string }>(
      `select user_id::text as id from users where name = 'Kim'`,
    );
    await page.getByLabel('Person', { exact: true }).fill(kim?.id ?? '');
    await page.getByRole('option', { name: 'Kim kim@example.com' }).waitFor();
    await page.getByLabel('Person', { exact: true }).fill('kim');
    await page.getByRole('option', { name: 'Kim kim@example.com' }).click();
    await page.getByLabel('Role', { exact: true }).selectOption('admin');
    await button(page, 'Add member').click();
    await page.getByText('Kim is admin of crew now.').waitFor();
    expect(await roleOf('crew')).toBe('admin');
    await page.getByLabel('Role of Kim').selectOption('owner');
    await page.getByText('Kim is owner of crew now.').waitFor();
    expect(await roleOf('crew')).toBe('owner');
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'Remove Kim from the team').click();
    await page.getByText('Kim stops being a member at once.').waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'Remove member').click();
    await page.getByText('Nobody is a member yet.').waitFor();
    expect(await roleOf('crew')).toBeUndefined();
  });

  it('is renamed, and shows both names if another admin renamed it meanwhile', async () => {
    await makeTeam('renamed');
    const page = await scene.open('/teams?open=renamed');
    await button(page, 'Rename…').click();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await page.getByLabel('Name', { exact: true }).last().fill('Mine');
    await scene.admin('PATCH', `${root}/renamed`, { name: 'Theirs' });
    await button(page, 'Save team').click();
    await page.getByRole('row', { name: 'Name differs Theirs Mine' }).waitFor();
    expect(await teamNow('renamed')).toMatchObject({ name: 'Theirs' });
    await button(page, 'Apply mine on top').click();
    await page.getByText('The team is called Mine now.').waitFor();
    expect(await teamNow('renamed')).toMatchObject({ name: 'Mine' });
  });

  it('is deactivated with messages about its key, which is refused, and its budget, which is kept', async () => {
    await makeTeam('closing', 'Closing');
    const made = await scene.admin('POST', '/api/v1/admin/api-keys', {
      name: 'k',
      owner_kind: 'team',
      owner_id: 'closing',
    });
    const { api_key: key } = made.data as { readonly api_key: string };
    const statusNow = async () => (await bearerChat(scene.gateway().url, key)).status;
    await eventually(async () => ((await statusNow()) === 200 ? true : undefined));
    await scene.admin('PUT', '/api/v1/admin/spend/budgets/teams/closing', {
      cadence: 'monthly',
      amount_10000: 10_000,
      hard_limit: true,
      timezone: 'UTC',
    });
    const page = await scene.open('/teams?open=closing');
    await button(page, 'Deactivate…').click();
    await page.getByText('Closing has one active key').waitFor();
    await button(page, 'Deactivate').click();
    await page.getByText('Closing is no longer active. 1 key is refused, the budget was kept.').waitFor();
    expect(await teamNow('closing')).toMatchObject({ active: false });
    const budgets = `select amount_10000::text as amount, hard_limit from team_budgets where team_id = 'closing' and active`;
    expect(await scene.query(budgets)).toEqual([{ amount: '10000', hard_limit: true }]);
    await eventually(async () => ((await statusNow()) === 401 ? true : undefined));
  });
});

describe('axe-core', () => {
  it('finds no violations in the list and the forms, in both themes', async () => {
    const clean = (page: Page) =>
      inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    const page = await scene.open('/teams');
    await page.getByRole('row').nth(1).waitFor();
    await clean(page);
    await button(page, 'New team').click();
    await clean(page);
    await scene.open('/teams?open=platform');
    await button(page, 'Add a member…').click();
    await page.getByRole('option', { name: 'Kim kim@example.com' }).waitFor();
    await clean(page);
    await button(page, 'Cancel').click();
    await button(page, 'Deactivate…').click();
    await clean(page);
  });
});
