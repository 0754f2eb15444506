import type { Page } from 'playwright-core';

/** The query parameters in the address. */
export const filtersOf = (page: Page): Readonly<Record<string, string>> =>
  Object.fromEntries(new URL(page.url()).searchParams);

/** Does the same in the dark and in the light theme, without a reload of the page. */
export async function inBothThemes(page: Page, work: () => Promise<void>): Promise<void> {
  for (const theme of ['dark', 'light']) {
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
    await work();
  }
}

/** One chat with an API key. */
export const bearerChat = (gateway: string, key: string): Promise<Response> =>
  fetch(`${gateway}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] }),
  });
