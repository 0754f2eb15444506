import { describe, expect, it } from '@jest/globals';
import { account, makeAdmin } from '../support/admin.ts';
import { isTrueWithin } from '../support/browser.ts';
import { axeViolations, logIn, pageScene } from './page-scene.ts';

const scene = pageScene();

describe('the page before the login', () => {
  it('holds no data, and leads to the login', async () => {
    const html = await (await fetch(`${scene.gateway().url}/admin/keys`)).text();
    expect(html).not.toContain('example.com');
    const page = await scene.stranger();
    await page.goto(`${scene.gateway().url}/admin/keys`);
    await page.getByRole('heading', { name: 'Log in to Model Gateway' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.context().close();
  });

  it('says what is wrong with a login, and leads on to the page that was asked for', async () => {
    const page = await scene.stranger();
    await page.goto(`${scene.gateway().url}/admin/keys?status=active`);
    await page.getByLabel('E-mail').fill(account.email);
    await page.getByLabel('Password').fill('another password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    await logIn(page);
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/admin/keys?status=active');
    await page.context().close();
  });
});

describe('the frame of every page', () => {
  it('has nothing that axe-core finds wrong', async () => {
    const page = await scene.open('/');
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('leads to every page of the rail', async () => {
    const page = await scene.open('/');
    const names = await page
      .getByRole('navigation', { name: 'Pages', exact: true })
      .getByRole('link')
      .allTextContents();
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      await page
        .getByRole('navigation', { name: 'Pages', exact: true })
        .getByRole('link', { name, exact: true })
        .click();
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await isTrueWithin(page, 20_000, "document.title.endsWith('· Model Gateway')")).toBe(true);
    }
  });

  it('has menus that fold by Esc, where something else is pressed or gets the focus, and where they lead on', async () => {
    const page = await scene.open('/keys');
    const columns = page.locator('summary', { hasText: 'Columns' });
    const mine = page.locator('summary', { hasText: account.email });
    const unfolded = page.locator('.menu[open]');
    await columns.click();
    await page.getByLabel('Creator').focus();
    await page.keyboard.press('Escape');
    expect(await unfolded.count()).toBe(0);
    expect(await columns.and(page.locator(':focus')).count()).toBe(1);
    await columns.click();
    await mine.click();
    expect(await unfolded.count()).toBe(1);
    await page.getByRole('heading', { level: 1 }).click();
    expect(await unfolded.count()).toBe(0);
    await mine.press('Enter');
    await page.keyboard.press('Shift+Tab');
    expect(await unfolded.count()).toBe(0);
    await mine.click();
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
    expect(await unfolded.count()).toBe(0);
    expect(await mine.and(page.locator(':focus')).count()).toBe(1);
  });

  it('has a menu that gets the focus back from the dialog that it opened', async () => {
    const page = await scene.open('/');
    await page.locator('summary', { hasText: account.email }).click();
    const help = page.getByRole('button', { name: 'Keyboard shortcuts' });
    await help.click();
    await page
      .getByRole('dialog', { name: 'Keyboard shortcuts' })
      .getByRole('button', { name: 'Close' })
      .click();
    expect(await help.and(page.locator(':focus')).count()).toBe(1);
  });

  it('has a menu in a drawer whose Esc leaves the drawer open', async () => {
    const { user_id: id } = (await scene.admin('GET', '/api/v1/auth/session')).data as { user_id: string };
    const page = await scene.open(`/budgets?open=user:${id}`);
    const drawer = page.getByRole('dialog');
    // That of the changes; the table of days is folded.
    await drawer.locator('summary', { hasText: 'Columns' }).filter({ visible: true }).first().click();
    await page.keyboard.press('Escape');
    expect(await page.locator('.menu[open]').count()).toBe(0);
    expect(await drawer.count()).toBe(1);
  });

  it('names who is logged in now, also when that is somebody else than before', async () => {
    const page = await scene.stranger();
    const url = `${scene.gateway().url}/admin`;
    await page.goto(url);
    await logIn(page);
    await page.locator('summary', { hasText: account.email }).waitFor();
    const other = { email: 'second@example.com', password: account.password };
    await makeAdmin(scene.databaseUrl(), other);
    const tab = await page.context().newPage();
    await tab.goto(url);
    await tab.locator('summary', { hasText: account.email }).click();
    await tab.getByRole('button', { name: 'Log out' }).click();
    await logIn(tab, other);
    // What a browser says when somebody comes back to a tab.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
    await page.locator('summary', { hasText: other.email }).waitFor();
    await page.context().close();
  });
});
