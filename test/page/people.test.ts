import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { account } from '../support/admin.ts';
import { filtersOf, inBothThemes } from './owner-scene.ts';
import { axeViolations, pageScene } from './page-scene.ts';

const scene = pageScene();
const root = '/api/v1/admin/users';

interface Person {
  readonly user_id: string;
  readonly name: string;
  readonly role: string;
  readonly active: boolean;
  readonly request_logging_enabled: boolean;
}

let made = 0;
async function makePerson(body: object = {}): Promise<Person> {
  made += 1;
  const answer = await scene.admin('POST', root, {
    email: `p${made}@example.com`,
    name: `Person ${made}`,
    ...body,
  });
  expect(answer.status).toBe(200);
  return answer.data as Person;
}

const personNow = async ({ user_id: id }: Pick<Person, 'user_id'>) =>
  (await scene.admin('GET', `${root}/${id}`)).data as Person;
const open = ({ user_id: id }: Pick<Person, 'user_id'>) => scene.open(`/people?open=${id}`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

describe('the list of people', () => {
  it('has each filter in the address', async () => {
    const kim = await makePerson({ email: 'kim@corp.example', name: 'Kim', role: 'platform_admin' });
    await scene.admin('PUT', `/api/v1/admin/teams/platform/members/${kim.user_id}`, { role: 'member' });
    await makePerson({ email: 'kim@else.example', name: 'Kim' });
    const page = await scene.open('/people');
    const filter = (label: string) => page.locator('.filters').getByLabel(label);
    await filter('Name').fill('kim');
    await filter('E-mail').fill('corp');
    await page.waitForURL(/email=corp/);
    await filter('State').selectOption('true');
    await filter('Role').selectOption('platform_admin');
    await filter('Team id').fill('platform');
    await page.waitForURL(/team_id=platform/);
    expect(filtersOf(page)).toEqual({
      name: 'kim',
      email: 'corp',
      active: 'true',
      role: 'platform_admin',
      team_id: 'platform',
    });
    await page.getByText('1 person', { exact: true }).waitFor();
    expect(await page.getByRole('row', { name: 'Kim' }).innerText()).toMatch(
      /kim@corp\.example[\s\S]*active[\s\S]*platform admin[\s\S]*on[\s\S]*platform/,
    );
    await filter('State').selectOption('false');
    await page.getByText('No people match').waitFor();
  });

  it('opens a row by Enter, with links to keys, requests, spend, budget and audit of the person', async () => {
    const person = await makePerson({ name: 'Row Opener' });
    const page = await scene.open('/people');
    await page.getByRole('row', { name: 'Row Opener' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('link', { name: '0 active keys' }).waitFor();
    const links = await page.getByRole('dialog').getByRole('link').all();
    const hrefs = await Promise.all(links.map((link) => link.getAttribute('href')));
    expect(hrefs).toEqual(
      expect.arrayContaining([
        `/admin/keys?owner_kind=user&owner_id=${person.user_id}`,
        `/admin/observability/request-logs?user_id=${person.user_id}`,
        '/admin/spend?owner_kind=user',
        `/admin/budgets?open=user%3A${person.user_id}`,
        `/admin/audit?target_id=${person.user_id}`,
      ]),
    );
  });

  it('opens a dialog with the focus in its first field, and Esc closes the top dialog and returns the focus', async () => {
    const page = await scene.open('/people');
    const row = page.getByRole('row').nth(1);
    await row.focus();
    await page.keyboard.press('Enter');
    const change = button(page, 'Change…');
    await change.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Change / }).waitFor();
    expect(await page.evaluate('document.activeElement.labels?.[0]?.textContent')).toBe('Name');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: /^Change / }).waitFor({ state: 'detached' });
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Change…');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TR');
  });

  it('shows an error if the gateway is unreachable, and loads after `Try again`', async () => {
    const page = await scene.open('/');
    await page.route('**/api/v1/admin/users?*', (route) => route.abort());
    await scene.open('/people');
    await page.getByText('The gateway cannot be reached').waitFor();
    await page.unroute('**/api/v1/admin/users?*');
    await button(page, 'Try again').click();
    await page.getByRole('row', { name: account.email }).waitFor();
  });
});

describe('a person', () => {
  it('is created, and an e-mail address that is in use is an error at its field', async () => {
    const page = await scene.open('/people');
    await button(page, 'New person').click();
    const form = page.getByRole('dialog');
    await form.getByLabel('E-mail').fill('a@example.com');
    await button(page, 'Create person').click();
    await page.getByText('There is a user with this e-mail address.').first().waitFor();
    expect(await form.getByLabel('E-mail').getAttribute('aria-invalid')).toBe('true');
    await form.getByLabel('E-mail').fill('new@example.com');
    await form.getByLabel('Name').fill('New One');
    await form.getByLabel('Log requests').uncheck();
    await form.getByLabel('Role').selectOption('platform_admin');
    await form.getByText('npx gateway admin create --email new@example.com').waitFor();
    await form.getByLabel('Role').selectOption('user');
    expect(await form.getByText('npx gateway admin create').count()).toBe(0);
    await button(page, 'Create person').click();
    await page.getByRole('heading', { name: 'New One' }).waitFor();
    const [row] = await scene.query(
      'select name, role, request_logging_enabled from users where email = $1',
      ['new@example.com'],
    );
    expect(row).toEqual({ name: 'New One', role: 'user', request_logging_enabled: false });
  });

  it('is changed in name, role and request logging, and has a link to the audit', async () => {
    const person = await makePerson();
    const page = await open(person);
    await button(page, 'Change…').click();
    const form = page.getByRole('dialog').last();
    await form.getByLabel('Name').fill('Renamed');
    await form.getByLabel('Role').selectOption('platform_admin');
    await form.getByLabel('Log requests').uncheck();
    await button(page, 'Save person').click();
    await page.getByText('Renamed was changed.').waitFor();
    expect(await personNow(person)).toMatchObject({
      name: 'Renamed',
      role: 'platform_admin',
      request_logging_enabled: false,
    });
    expect(await page.getByRole('link', { name: 'Audit' }).last().getAttribute('href')).toBe(
      `/admin/audit?target_id=${person.user_id}`,
    );
    await scene.admin('PATCH', `${root}/${person.user_id}`, { role: 'user' });
  });

  it('is deactivated with a message about its keys and budget, and activated again', async () => {
    const person = await makePerson({ name: 'Leaver' });
    for (const name of ['one', 'two'])
      await scene.admin('POST', '/api/v1/admin/api-keys', {
        name,
        owner_kind: 'user',
        owner_id: person.user_id,
      });
    const page = await open(person);
    const keys = await page.getByRole('link', { name: '2 active keys' }).getAttribute('href');
    expect(keys).toContain('&status=active');
    await button(page, 'Deactivate…').click();
    await page.getByText('Leaver has 2 active keys: calls with them are refused within 5 seconds.').waitFor();
    await button(page, 'Deactivate').click();
    await page.getByText('Leaver is no longer active. 2 keys are refused, there was no budget.').waitFor();
    expect((await personNow(person)).active).toBe(false);
    await button(page, 'Activate…').click();
    await button(page, 'Activate').click();
    await page.getByText('Leaver is active again.').waitFor();
    expect((await personNow(person)).active).toBe(true);
  });

  it('who is the last active platform admin cannot be deactivated or demoted, and the page shows why', async () => {
    await scene.query("update users set role = 'user' where email <> $1", [account.email]);
    const [root] = await scene.query<Person>('select user_id from users where email = $1', [account.email]);
    const page = await open(root!);
    await button(page, 'Deactivate…').click();
    await button(page, 'Deactivate').click();
    await page.getByText('This is the last active platform admin: make another one first.').waitFor();
    await button(page, 'Cancel').click();
    await button(page, 'Change…').click();
    await page.getByLabel('Role').last().selectOption('user');
    await button(page, 'Save person').click();
    await page.getByText('This is the last active platform admin: make another one first.').waitFor();
    expect(await personNow(root!)).toMatchObject({ role: 'platform_admin', active: true });
  });

  it('whom another admin changed meanwhile is shown in both versions, and the change can be applied on top', async () => {
    const person = await makePerson({ name: 'Before' });
    const page = await open(person);
    await button(page, 'Deactivate…').click();
    await scene.admin('PATCH', `${root}/${person.user_id}`, { name: 'Theirs' });
    await button(page, 'Deactivate').click();
    await page.getByRole('row', { name: 'State differs active inactive' }).waitFor();
    expect((await personNow(person)).active).toBe(true);
    await button(page, 'Apply mine on top').click();
    await page.getByText('is no longer active.').waitFor();
    expect(await personNow(person)).toMatchObject({ name: 'Theirs', active: false });
  });
});

describe('axe-core', () => {
  it('finds no violations in the list, the drawer and the forms, in both themes', async () => {
    const clean = (page: Page) =>
      inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    const person = await makePerson();
    const page = await scene.open('/people');
    await page.getByRole('row').nth(1).waitFor();
    await clean(page);
    await button(page, 'New person').click();
    await clean(page);
    await open(person);
    await button(page, 'Change…').waitFor();
    await clean(page);
    await button(page, 'Change…').click();
    await clean(page);
    await button(page, 'Cancel').click();
    await button(page, 'Deactivate…').click();
    await clean(page);
  });
});

describe('a name with a bidirectional control character', () => {
  it('is refused with 400 and names the field, while a name in a right-to-left script is accepted', async () => {
    const turning = ['\u202Egnp.exe', '\u2067left'];
    for (const name of turning) {
      const answer = await scene.admin('POST', root, { email: 'turned@example.com', name });
      expect([answer.status, answer.error?.param]).toEqual([400, 'name']);
    }
    expect((await makePerson({ name: 'שלום עולם' })).name).toBe('שלום עולם');
  });
});
