import { describe, expect, it } from '@jest/globals';
import { account, makeAdmin } from '../support/admin.ts';
import { becomesTrue } from '../support/browser.ts';
import { axeViolations, logIn, pageScene } from './page-scene.ts';

const scene = pageScene();

describe('the page before the login', () => {
  it('contains no data, and shows the login', async () => {
    const html = await (await fetch(`${scene.gateway().url}/admin/keys`)).text();
    expect(html).not.toContain('example.com');
    const page = await scene.stranger();
    await page.goto(`${scene.gateway().url}/admin/keys`);
    await page.getByRole('heading', { name: 'Log in to Model Gateway' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.context().close();
  });

  it('shows an error for a wrong password, and opens the requested page after the login', async () => {
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
  it('has no axe-core violations, with and without the dialog of keyboard shortcuts', async () => {
    const page = await scene.open('/');
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('opens every page of the navigation, each with a heading and a document title', async () => {
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
      expect(await becomesTrue(page, "document.title.endsWith('· Model Gateway')")).toBe(true);
    }
  });

  it('has menus that close by Esc, when something else is clicked or focused, and after navigation', async () => {
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

  it('returns the focus from a dialog to the menu item that opened it', async () => {
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

  it('keeps a drawer open when Esc closes a menu in it', async () => {
    const { user_id: id } = (await scene.admin('GET', '/api/v1/auth/session')).data as { user_id: string };
    const page = await scene.open(`/budgets?open=user:${id}`);
    const drawer = page.getByRole('dialog');
    // The menu of the table of changes, because the table of days is collapsed.
    await drawer.locator('summary', { hasText: 'Columns' }).filter({ visible: true }).first().click();
    await page.keyboard.press('Escape');
    expect(await page.locator('.menu[open]').count()).toBe(0);
    expect(await drawer.count()).toBe(1);
  });

  it('announces each page that is opened in it, by its title', async () => {
    const page = await scene.open('/keys');
    const announced = page.locator('.shell > [role=status]');
    await announced.getByText('Keys').waitFor({ state: 'attached' });
    await announced.evaluate((region: { isKnown?: boolean }) => (region.isKnown = true));
    await page.getByRole('link', { name: 'Spend', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Spend', level: 1 }).waitFor();
    expect(await announced.textContent()).toBe('Spend');
    expect(await announced.evaluate((region: { isKnown?: boolean }) => region.isKnown)).toBe(true);
    await page.goBack();
    await announced.getByText('Keys').waitFor({ state: 'attached' });
  });

  it('adds the notice of a change to a region that is there already, so that screen readers announce it', async () => {
    await scene.admin('POST', '/api/v1/admin/teams', { team_id: 'announced' });
    const page = await scene.open('/teams?open=announced');
    await page.evaluate(`new MutationObserver((changes) => {
      const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element);
      for (const node of added) if (node.matches('.notices, .notice') && node.isConnected)
        window.regions = [...(window.regions ?? []), node.matches('.notice') ? 'notice' : node.childElementCount];
    }).observe(document, { childList: true, subtree: true })`);
    await page.getByRole('button', { name: 'Rename…' }).click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).last().fill('Announced');
    await page.getByRole('button', { name: 'Save team' }).click();
    await page.locator('.notice').getByText('The team is called Announced now.').waitFor();
    // That of the form, that of the drawer behind it, and only then the notice.
    expect(await page.evaluate('window.regions')).toEqual([0, 0, 'notice']);
  });

  it('shows the current user, also after another admin logged in in another tab', async () => {
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
    // The event that a browser sends when a tab becomes visible again.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
    await page.locator('summary', { hasText: other.email }).waitFor();
    await page.context().close();
  });
});
