import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { filtersOf, inBothThemes } from './owner-scene.ts';
import { axeViolations, pageScene } from './page-scene.ts';

const scene = pageScene();
const root = '/api/v1/admin/service-accounts';
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const make = async (id: string, team = 'platform') => {
  const made = await scene.admin('POST', root, { service_account_id: id, team_id: team });
  expect(made.status).toBe(200);
};
const now = async (id: string) => (await scene.admin('GET', `${root}/${id}`)).data;

beforeAll(() => scene.admin('POST', '/api/v1/admin/teams', { team_id: 'search', name: 'Search' }));

describe('service accounts', () => {
  it('are listed, and each filter is in the address', async () => {
    await make('listed-1');
    await make('listed-2', 'search');
    const page = await scene.open('/service-accounts');
    const filter = (label: string) => page.locator('.filters').getByLabel(label);
    await filter('Name').fill('listed');
    await page.getByText('2 service accounts', { exact: true }).waitFor();
    await filter('Team id').fill('search');
    await page.getByText('1 service account', { exact: true }).waitFor();
    await filter('State').selectOption('true');
    await page.waitForURL(/active=true/);
    expect(filtersOf(page)).toEqual({ name: 'listed', team_id: 'search', active: 'true' });
    expect(await page.getByRole('row', { name: 'listed-2' }).innerText()).toMatch(/Search[\s\S]*active/);
    await filter('State').selectOption('false');
    await page.getByText('No service accounts match').waitFor();
  });

  it('are created for a team found by search, and an id that is in use is an error at its field', async () => {
    await make('taken');
    const page = await scene.open('/service-accounts');
    await button(page, 'New service account').click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Id', { exact: true }).fill('taken');
    await form.getByLabel('Team that pays', { exact: true }).fill('sear');
    await page.getByRole('option', { name: 'Search search' }).click();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'Create service account').click();
    await page.getByText('There is a service account of this id.').first().waitFor();
    expect(await form.getByLabel('Id', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await form.getByLabel('Id', { exact: true }).fill('indexer');
    await button(page, 'Create service account').click();
    await page.getByRole('heading', { name: 'Service account indexer' }).waitFor();
    expect(await now('indexer')).toMatchObject({ name: 'indexer', team_id: 'search', active: true });
  });

  it('find their team by a part of its id, also one that no name has, and no inactive one', async () => {
    for (const id of ['cost-centre-7', 'cost-centre-8'])
      await scene.admin('POST', '/api/v1/admin/teams', { team_id: id, name: `Payer ${id.slice(-1)}` });
    await scene.admin('PATCH', '/api/v1/admin/teams/cost-centre-8', { active: false });
    const page = await scene.open('/service-accounts');
    await button(page, 'New service account').click();
    const team = page.getByRole('combobox', { name: 'Team that pays' });
    const options = page.getByRole('listbox', { name: 'Team that pays' }).getByRole('option');
    await options.filter({ hasText: 'Search' }).waitFor();
    await team.fill('CENTRE-');
    await options.filter({ hasText: 'Search' }).waitFor({ state: 'detached' });
    await options.first().waitFor();
    expect(await options.allTextContents()).toEqual(['Payer 7cost-centre-7']);
    await team.fill('centre-8');
    await page.getByText('Nothing has this id or name.').waitFor();
  });

  it('move to another team, with both versions shown if another admin changed them meanwhile', async () => {
    await make('mover');
    const page = await scene.open('/service-accounts?open=mover');
    await button(page, 'Change…').click();
    await button(page, 'Choose another').click();
    await page.getByRole('option', { name: 'Search search' }).click();
    await page.getByText('new requests count for Search').waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await scene.admin('PATCH', `${root}/mover`, { name: 'Theirs' });
    await button(page, 'Save service account').click();
    await page.getByRole('row', { name: 'Team differs platform search' }).waitFor();
    await button(page, 'Apply mine on top').click();
    await page.getByText('Theirs was changed.').waitFor();
    expect(await now('mover')).toMatchObject({ name: 'Theirs', team_id: 'search' });
  });

  it('are deactivated with a message about their keys, and activated again', async () => {
    await make('robot');
    await scene.admin('POST', '/api/v1/admin/api-keys', {
      name: 'k',
      owner_kind: 'service_account',
      owner_id: 'robot',
    });
    const page = await scene.open('/service-accounts?open=robot');
    await page.getByRole('link', { name: 'Budget of its team' }).waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'Deactivate…').click();
    await page.getByText('robot has one active key').waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'Deactivate').click();
    await page.getByText('robot is no longer active. 1 key is refused').waitFor();
    expect(await now('robot')).toMatchObject({ active: false });
    await button(page, 'Activate…').click();
    await button(page, 'Activate').click();
    await page.getByText('robot is active again.').waitFor();
    expect(await now('robot')).toMatchObject({ active: true });
  });

  it('have a list without axe-core violations, also if it fails to load', async () => {
    const page = await scene.open('/service-accounts');
    await page.getByRole('row').nth(1).waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await page.route('**/api/v1/admin/service-accounts?*', (route) => route.abort());
    await scene.open('/service-accounts');
    await page.getByText('The gateway cannot be reached').waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await page.unroute('**/api/v1/admin/service-accounts?*');
  });
});
