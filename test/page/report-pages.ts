import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { becomesTrue } from '../support/browser.ts';
import { axeViolations } from './page-scene.ts';

/** Makes the API fail at these addresses while `look` runs. */
export async function whileFailing(page: Page, url: string, look: () => Promise<void>): Promise<void> {
  await page.route(url, (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'request-of-the-fault' },
      contentType: 'application/json',
      body: JSON.stringify({
        error: { message: 'Something broke.', type: 'server_error', param: null, code: 'internal_error' },
      }),
    }),
  );
  await look();
  await page.unroute(url);
}

/** The axe-core violations in the light and in the dark theme. */
export async function axeInBothThemes(page: Page): Promise<readonly string[]> {
  const light = await axeViolations(page);
  await page.evaluate("document.documentElement.dataset.theme = 'dark'");
  const dark = await axeViolations(page);
  await page.evaluate("document.documentElement.dataset.theme = 'light'");
  return [...light, ...dark];
}

/** The lines of the downloaded CSV of a table. */
export async function csvOf(page: Page, caption: string): Promise<readonly string[]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('region', { name: caption, exact: true }).getByRole('button', { name: 'CSV' }).click(),
  ]);
  return (await readFile(await download.path(), 'utf8')).replace(/^\uFEFF/, '').split('\r\n');
}

/** The query parameters in the address of the page. */
export const searchOf = (page: Page): Readonly<Record<string, string>> =>
  Object.fromEntries(new URL(page.url()).searchParams);

/** The filters that a link sets. */
export const filtersOf = (href: string | null): Readonly<Record<string, string>> =>
  Object.fromEntries(new URL(href ?? '', 'http://gateway').searchParams);

/** By how many pixels the page scrolls sideways at the width of a phone. */
export async function sidewaysAt360(page: Page): Promise<unknown> {
  await page.setViewportSize({ width: 360, height: 780 });
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  // A chart adapts to the size of its frame a moment later.
  await becomesTrue(page, `${overflow} === 0`);
  const over = await page.evaluate(overflow);
  await page.setViewportSize({ width: 1280, height: 800 });
  return over;
}
