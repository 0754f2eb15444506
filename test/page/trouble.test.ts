import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeViolations, pageScene } from './page-scene.ts';
import { whileFailing } from './report-pages.ts';

const scene = pageScene();
const root = '/api/v1/admin';
const pageLink = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link', { name, exact: true });

async function makeKey(name: string): Promise<{ readonly api_key_id: string }> {
  const made = await scene.admin('POST', `${root}/api-keys`, {
    name,
    owner_kind: 'team',
    owner_id: 'platform',
  });
  expect(made.status).toBe(200);
  return made.data as { readonly api_key_id: string };
}

describe('over plain http, where a browser gives a page no clipboard', () => {
  it('a copy button says that the text has to be copied by hand', async () => {
    const page = await scene.open('/observability/request-logs');
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByRole('button', { name: 'Select it and copy by hand' }).waitFor({ timeout: 1_500 });
  });
});

describe('a double click', () => {
  it('makes a change once', async () => {
    const page = await scene.open('/keys?owner_kind=team&owner_id=platform');
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await button('New key').click();
    await page.getByLabel('Name', { exact: true }).last().fill('clicked twice');
    await button('Create key').dblclick();
    await page.getByText('Not copied yet.').waitFor();
    await button('Close').click();
    await button('Leave without it').click();
    await page.getByRole('row', { name: 'clicked twice' }).first().waitFor();
    expect(await page.getByRole('row', { name: 'clicked twice' }).count()).toBe(1);
  });
});

describe('text of a row', () => {
  it('can be selected with the mouse, which does not open the row; a click then does', async () => {
    await makeKey('selectable');
    const page = await scene.open('/keys');
    const row = page.getByRole('row', { name: 'selectable' });
    const cell = row.getByText('selectable');
    const box = await cell.boundingBox();
    if (box === null) throw new Error('the row is not shown');
    const middle = box.y + box.height / 2;
    await page.mouse.move(box.x + 1, middle);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 1, middle, { steps: 5 });
    await page.mouse.up();
    expect(await page.evaluate('String(getSelection())')).toContain('selectabl');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await row.getByRole('cell').last().click();
    await page.getByRole('dialog').waitFor();
  });
});

describe('without a network', () => {
  it('the page shows an error, and loads again by itself when the network is back', async () => {
    await makeKey('laptop');
    const page = await scene.open('/keys');
    await page.getByRole('row', { name: 'laptop' }).waitFor();
    await page.context().setOffline(true);
    await page.locator('.filters').getByLabel('Status').selectOption('active');
    await page.getByRole('alert').getByText('The gateway cannot be reached').waitFor();
    expect(await page.getByRole('row', { name: 'laptop' }).count()).toBe(0);
    await page.context().setOffline(false);
    await page.getByRole('row', { name: 'laptop' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('a page that was not loaded before is reported beside the navigation, and loads on `Try again`', async () => {
    const page = await scene.open('/keys');
    await page.context().setOffline(true);
    await pageLink(page, 'Harnesses').click();
    await page.getByRole('alert').getByText('so this page was not loaded').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Harnesses' }).waitFor();
    expect(scene.complaints.splice(0).join('\n')).toContain('so this page was not loaded');
  });

  it('a change fails at once, and is not made later', async () => {
    const { api_key_id: id } = await makeKey('kept');
    const page = await scene.open(`/keys?open=${id}`);
    await page.getByRole('button', { name: 'Revoke…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke key “kept”?' });
    await dialog.waitFor();
    await page.context().setOffline(true);
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await dialog.getByRole('alert').getByText('It is not known whether the change was made').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const isRead = page.waitForResponse((answer) => answer.url().endsWith(id));
    await page.context().setOffline(false);
    // A waiting change would be sent before this read, which the return of the network triggers.
    await isRead;
    const now = (await scene.admin('GET', `${root}/api-keys/${id}`)).data as { readonly revoked_at: unknown };
    expect(now.revoked_at).toBeNull();
  });

  it('a change whose response is lost is reported as unknown, and the list then shows its effect', async () => {
    const page = await scene.open('/keys?owner_kind=team&owner_id=platform');
    const calls = `**${root}/api-keys`;
    await page.route(calls, async (route) => {
      await makeKey('lost');
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('lost');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog
      .getByText('It is not known whether the change was made: check before you try again.')
      .waitFor();
    await page.unroute(calls);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('row', { name: 'lost' }).waitFor();
  });
});

describe('over a slow network', () => {
  it('a page whose code is being loaded is waited for in the place of the one before', async () => {
    const page = await scene.open('/keys');
    const code = '**/admin/assets/budgets-*';
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    await page.route(code, async (route) => {
      await arrived;
      await route.continue();
    });
    await pageLink(page, 'Budgets').click();
    await page.getByText('Waiting for the page…').waitFor();
    expect(await page.getByRole('heading', { name: 'Keys' }).count()).toBe(0);
    arrive();
    await page.getByRole('heading', { name: 'Budgets' }).waitFor();
    await page.unroute(code);
  });
});

describe('after an update of the gateway, in a tab that was open before', () => {
  it('a page whose code stays missing is reported beside the navigation, and others open', async () => {
    const page = await scene.open('/keys');
    const code = '**/admin/assets/people-*';
    await page.route(code, (route) => route.fulfill({ status: 404 }));
    await pageLink(page, 'People').click();
    await page.getByRole('alert').getByText('The gateway may have been updated').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.unroute(code);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'People' }).waitFor();
    await pageLink(page, 'Teams').click();
    await page.getByRole('heading', { name: 'Teams' }).waitFor();
    expect(scene.complaints.splice(0).join('\n')).toContain('people-');
  });

  it('a chart whose code is missing leaves its table and the rest of the page', async () => {
    await scene.chat();
    const page = await scene.open('/keys');
    const code = '**/admin/assets/stacked-chart-*';
    await page.route(code, (route) => route.fulfill({ status: 404 }));
    await scene.open('/spend');
    await page.getByText('The chart could not be loaded').waitFor();
    await page.getByText('Show as a table').click();
    await page.getByRole('table', { name: 'Spend per day by owner, as a table' }).waitFor();
    await page.unroute(code);
  });
});

describe('behind a proxy that gives up waiting', () => {
  it('the list shows the effect of a change that the proxy answered 504', async () => {
    const page = await scene.open('/keys?owner_kind=team&owner_id=platform&name=late');
    const calls = `**${root}/api-keys`;
    await page.route(calls, async (route) => {
      await makeKey('late');
      await route.fulfill({ status: 504, contentType: 'text/html', body: '<h1>Gateway Time-out</h1>' });
    });
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('late');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('It is not known whether the change was made').waitFor();
    await page.unroute(calls);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('row', { name: 'late' }).waitFor();
  });
});

describe('an invalid filter in the address', () => {
  it.each([
    ['/keys?status=foo', '`status` must be one of active, revoked, expired.'],
    ['/keys?owner_kind=foo', '`owner_kind` must be one of user, team, service_account.'],
    ['/people?role=foo', '`role` must be one of user, platform_admin.'],
    ['/people?active=maybe', '`active` must be one of true, false.'],
    ['/teams?active=maybe', '`active` must be one of true, false.'],
    ['/models?enabled=maybe', '`enabled` must be one of true, false.'],
    ['/rate-limits?kind=foo', '`kind` must be one of api_key, user, team, model.'],
    ['/observability/mcp-invocations?status=foo', '`status` must be one of success,'],
  ])('at %s shows an error and no rows', async (path, says) => {
    const page = await scene.open(path);
    await page.getByRole('alert').getByText(says).waitFor();
    expect(await page.locator('main tbody tr').count()).toBe(0);
  });

  it('by budget state matches no owner, and `constructor` as a name of a filter is ignored', async () => {
    const page = await scene.open('/budgets?state=foo');
    await page.getByRole('button', { name: 'Remove the filter Budget: foo' }).waitFor();
    await page.getByText('No owner').first().waitFor();
    expect(await page.locator('main tbody tr').count()).toBe(0);
    await scene.open('/keys?constructor=foo');
    await page.getByRole('row', { name: 'laptop' }).waitFor();
    expect(await page.getByRole('list', { name: 'Active filters' }).count()).toBe(0);
  });
});

describe('a late response', () => {
  /** The first of so many days that end today. */
  const firstDay = (days: number): string =>
    new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);

  it('keeps the earlier rows of a list, marks it as busy, and disables its CSV button', async () => {
    const page = await scene.open('/keys');
    await page.getByRole('row', { name: 'laptop' }).waitFor();
    let answer = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api-keys?status=revoked*', async (route) => {
      await isAsked;
      await route.continue();
    });
    const earlier = await page.locator('main tbody tr').allTextContents();
    await page.locator('.filters').getByLabel('Status').selectOption('revoked');
    await page.getByText('Waiting for Keys; showing earlier data…').waitFor();
    await page.getByText('refreshing…').waitFor();
    const list = page.getByRole('region', { name: 'Keys, scrolls' });
    expect(await list.getAttribute('aria-busy')).toBe('true');
    await page.getByRole('button', { name: 'CSV', disabled: true }).waitFor();
    expect(await page.locator('main tbody tr').allTextContents()).toEqual(earlier);
    answer();
    await page.getByRole('row', { name: 'laptop' }).waitFor({ state: 'detached' });
    expect(await page.getByText('showing earlier data').count()).toBe(0);
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('keeps both parts of a report, and marks them as showing earlier data', async () => {
    expect((await scene.chat()).status).toBe(200);
    const page = await scene.open('/spend');
    await page.getByRole('link', { name: 'fast' }).waitFor();
    await page.locator('figcaption').getByText('Spend per day by').waitFor();
    let answer = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/spend/*days=30*', async (route) => {
      await isAsked;
      await route.continue();
    });
    await page.getByLabel('Days').selectOption('30');
    await page.getByText('Waiting for the spend; showing earlier data…').waitFor();
    await page.getByText('Waiting for the spend of each day; showing earlier data…').waitFor();
    await page.getByText(`from ${firstDay(7)}`).waitFor();
    await page.getByRole('link', { name: 'fast' }).waitFor();
    await page.locator('figcaption').getByText('Spend per day by').waitFor();
    answer();
    await page.getByText(`from ${firstDay(30)}`).waitFor();
    // The two parts of the report arrive one after the other.
    await page.getByText('showing earlier data').first().waitFor({ state: 'detached' });
    await page.unrouteAll({ behavior: 'wait' });
  });
});

describe('a page beyond the end of a list', () => {
  it.each([
    ['/keys', 'Keys'],
    ['/observability/request-logs', 'Requests'],
    ['/audit', 'Audit'],
  ])('of %s is reported as past the end, and `Previous` opens the last page', async (path, caption) => {
    const page = await scene.open(`${path}?page=40`);
    await page.getByText('This page is past the end of the list').waitFor();
    await page.getByRole('button', { name: 'Next', disabled: true }).waitFor();
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByRole('table', { name: caption }).waitFor();
    expect(new URL(page.url()).search).toBe('');
  });
});

describe('a drawer whose list fails to load', () => {
  it.each([
    ['/audit', '**/admin/events?*', 'Change'],
    ['/alerts', '**/budget-alerts?*', 'Alert'],
  ])('at %s shows the error, and not that there is no such row', async (path, url, title) => {
    await whileFailing(scene.page(), url, async () => {
      const page = await scene.open(`${path}?open=some`);
      const drawer = page.getByRole('dialog', { name: title });
      await drawer.getByRole('alert').getByText('Something broke.').waitFor();
      expect(await drawer.getByText('with this id').count()).toBe(0);
    });
  });
});
