import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { filtersOf } from './owner-scene.ts';
import { pageScene } from './page-scene.ts';

const scene = pageScene();
const requests = '/observability/request-logs';

beforeAll(async () => {
  await scene.chat({}, { 'x-request-id': 'of-history' });
  await scene.query(
    `insert into mcp_tool_invocations (mcp_tool_invocation_id, request_id, server_id, tool_id, status, policy_result,
       latency_ms, arguments_truncated, result_truncated, occurred_at)
     values (uuidv7(), 'of-history', 'files', 'files/read', 'success', 'allowed', 1, false, false, now())`,
  );
});

const waitForFilters = (page: Page, filters: Readonly<Record<string, string>>) =>
  page.waitForURL(({ searchParams }) => {
    const found = Object.fromEntries(searchParams);
    return JSON.stringify(found) === JSON.stringify(filters);
  });

describe('Back', () => {
  it.each([requests, '/observability/mcp-invocations', '/people', '/models'])(
    'opens the details that were closed last: %s',
    async (path) => {
      const page = await scene.open(path);
      await page.locator('main tr.opens td').first().click();
      await page.getByRole('dialog').waitFor();
      const open = filtersOf(page);
      expect(Object.keys(open)).toEqual(['open']);
      await page.keyboard.press('Escape');
      await waitForFilters(page, {});
      await page.goBack();
      await waitForFilters(page, open);
      await page.getByRole('dialog').waitFor();
      await page.goBack();
      await waitForFilters(page, {});
      await page.goForward();
      await page.getByRole('dialog').waitFor();
    },
  );

  it('undoes what was typed into a filter at once, and then the filter before it', async () => {
    const page = await scene.open(requests);
    const field = (name: string) => page.locator('.filters').getByLabel(name, { exact: true });
    await field('Model').pressSequentially('fa');
    await waitForFilters(page, { model_key: 'fa' });
    await field('Model').pressSequentially('st');
    await waitForFilters(page, { model_key: 'fast' });
    await field('Environment').fill('prod');
    await waitForFilters(page, { model_key: 'fast', env: 'prod' });
    await page.goBack();
    await waitForFilters(page, { model_key: 'fast' });
    expect(await field('Environment').inputValue()).toBe('');
    await page.goBack();
    await waitForFilters(page, {});
    expect(await field('Model').inputValue()).toBe('');
    await page.goForward();
    await waitForFilters(page, { model_key: 'fast' });
    expect(await field('Model').inputValue()).toBe('fast');
  });
});
