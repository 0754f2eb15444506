import { describe, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { axeViolations, pageScene } from './page-scene.ts';

const scene = pageScene();

const searchBy = async (keys: string): Promise<Page> => {
  const page = scene.page();
  await page.keyboard.press(keys);
  await page.getByRole('dialog').getByRole('combobox').and(page.locator(':focus')).waitFor();
  return page;
};
const openSearch = async (): Promise<Page> => {
  await scene.open('/audit');
  return searchBy('/');
};
const options = (page: Page) => page.getByRole('listbox').getByRole('option');
const answer = (route: Route, title: string) =>
  route.fulfill({
    contentType: 'application/json',
    body: JSON.stringify({
      data: { items: [{ kind: 'team', id: title, title, detail: null }] },
      meta: { generated_at: new Date().toISOString() },
    }),
  });

describe('the search', () => {
  it.each(['/', 'Control+k'])('opens by %s, and closes by Esc, which returns the focus', async (keys) => {
    const before = scene.page().getByRole('link', { name: 'Teams', exact: true });
    await scene.open('/audit');
    await before.focus();
    const page = await searchBy(keys);
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').getByRole('combobox').waitFor({ state: 'detached' });
    await before.and(page.locator(':focus')).waitFor();
  });

  it('does not open over a form, and opens over a drawer', async () => {
    const page = await scene.open('/people');
    await page.getByRole('button', { name: 'New person' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('Half a na');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('me');
    expect(await form.getByLabel('Name').inputValue()).toBe('Half a name');
    expect(await form.count()).toBe(1);
    await page.keyboard.press('Escape');
    await scene.open('/models?open=fast');
    await page.getByRole('dialog', { name: 'Model fast' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
  });

  it('groups hits by kind, selects one by arrow keys, and opens it by Enter', async () => {
    const page = await openSearch();
    const input = page.getByRole('dialog').getByRole('combobox');
    expect(await input.getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.type('a');
    await options(page).first().waitFor();
    expect(await input.getAttribute('aria-expanded')).toBe('true');
    expect(await page.getByRole('listbox').getByRole('group').count()).toBeGreaterThan(2);
    const active = async () =>
      page.locator(`id=${await input.getAttribute('aria-activedescendant')}`).textContent();
    const titles = await options(page).allTextContents();
    expect(await active()).toBe(titles[0]);
    await page.keyboard.press('ArrowDown');
    expect(await active()).toBe(titles[1]);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await active()).toBe(titles.at(-1));
    expect(await axeViolations(page)).toEqual([]);
    await input.fill('fast');
    await page.getByRole('option', { name: 'fast' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/admin/models?open=fast');
    await page.getByRole('dialog', { name: 'Model fast' }).waitFor();
  });

  it('opens a hit of each kind on the page of its kind', async () => {
    await scene.admin('POST', '/api/v1/admin/service-accounts', {
      service_account_id: 'indexer',
      name: 'Indexer',
      team_id: 'platform',
    });
    const asked = await scene.chat();
    const requestId = asked.headers.get('x-request-id') ?? '';
    const [user] = await scene.query<{ user_id: string }>(
      `select user_id from users where email = 'a@example.com'`,
    );
    const [key] = await scene.query<{ api_key_id: string }>(`select api_key_id from api_keys`);
    for (const [typed, place] of [
      ['a@example.com', `/people?open=${user?.user_id}`],
      ['platform', '/teams?open=platform'],
      ['indexer', '/service-accounts?open=indexer'],
      ['dev', `/keys?open=${key?.api_key_id}`],
      ['up', '/models?provider=up'],
      [requestId, `/observability/request-logs?request_id=${requestId}`],
    ] as const) {
      const page = await openSearch();
      await page.getByRole('dialog').getByRole('combobox').fill(typed);
      await options(page).first().waitFor();
      // A request whose own id is its request id is one hit.
      if (typed === requestId) expect(await options(page).count()).toBe(1);
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/admin${place}`);
    }
  });

  it('shows that nothing was found, and an error with a retry button', async () => {
    const page = await openSearch();
    await page.getByRole('dialog').getByRole('combobox').fill('nothing is called so');
    await page.getByText('Nothing has this id or name.').waitFor();
    await page.route('**/api/v1/admin/search?**', (route) => route.abort());
    await page.getByRole('dialog').getByRole('combobox').fill('another');
    await page.getByText('The gateway cannot be reached.').waitFor();
    await page.unroute('**/api/v1/admin/search?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Nothing has this id or name.').waitFor();
  });

  it('sends a request when typing pauses, and ignores a late response to an earlier text', async () => {
    const page = await openSearch();
    const waiting = new Map<string, Route>();
    await page.route('**/api/v1/admin/search?**', (route) => {
      waiting.set(new URL(route.request().url()).searchParams.get('q') ?? '', route);
    });
    const asked = async (text: string): Promise<Route> => {
      for (;;) {
        const route = waiting.get(text);
        if (route !== undefined) return route;
        await page.waitForTimeout(20);
      }
    };
    await page.keyboard.type('first', { delay: 10 });
    const first = await asked('first');
    expect([...waiting.keys()]).toEqual(['first']);
    await page.getByRole('dialog').getByRole('combobox').fill('second');
    await answer(await asked('second'), 'second hit');
    await page.getByRole('option', { name: 'second hit' }).waitFor();
    await answer(first, 'first hit').catch(() => undefined);
    await page.waitForTimeout(200);
    expect(await options(page).allTextContents()).toEqual(['second hit']);
    await page.unroute('**/api/v1/admin/search?**');
  });
});
