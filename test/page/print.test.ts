import { afterEach, describe, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { basicConfig } from '../support/gateway.ts';
import { colourAt, drawn } from './drawn-pixels.ts';
import { pageScene } from './page-scene.ts';

const longId = 'm'.repeat(120);
const models = [longId, ...Array.from({ length: 40 }, (_, n) => `model-${n}`)].map((id) => ({
  id,
  routes: [{ provider: 'up', upstream_model: 'simulated-fast' }],
}));
const scene = pageScene((upstream, key) => basicConfig(upstream, key, { more: { models } }));

/** Pixels of its content that would have to be scrolled to. */
const hiddenIn = (part: Locator): Promise<number> =>
  part.evaluate(
    ({ scrollHeight, clientHeight }: { readonly scrollHeight: number; readonly clientHeight: number }) =>
      scrollHeight - clientHeight,
  );

describe('on paper', () => {
  afterEach(() => scene.page().emulateMedia({ media: null }));

  it('a list has all of its rows, dark on light, and nothing that can only be pressed', async () => {
    const page = await scene.open('/models');
    await page.evaluate("document.documentElement.dataset.theme = 'dark'");
    await page
      .locator('main tbody tr')
      .nth(models.length - 1)
      .waitFor();
    expect(await hiddenIn(page.locator('.table-scroll'))).toBeGreaterThan(100);
    await page.emulateMedia({ media: 'print' });
    expect(await hiddenIn(page.locator('.table-scroll'))).toBe(0);
    expect(colourAt(await drawn(page.getByRole('heading', { level: 1 })), 0.99)).toMatch(/^25\d,/);
    for (const pressed of [page.getByRole('link', { name: 'Spend', exact: true }), page.locator('.filters')])
      expect(await pressed.isVisible()).toBe(false);
  });

  it('a wide list has all of its columns on a sheet in portrait, to which browsers shrink it by half at most', async () => {
    const [sheet, leastShrink, mostShrink] = [717, 4 / 3, 2];
    const tags = Array.from({ length: 4 }, (_, n) => `tag-${n}=${'v'.repeat(60)}`).join('; ');
    expect((await scene.chat({ model: longId }, { 'x-gateway-tags': tags })).status).toBe(200);
    const page = await scene.open('/observability/request-logs');
    // Every column is shown.
    await page.evaluate("localStorage.setItem('gateway.columns.Requests', '')");
    await page.reload();
    await page.locator('main tbody tr').first().waitFor();
    await page.getByRole('columnheader', { name: 'Tags' }).waitFor();
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: Math.floor(sheet * leastShrink), height: 800 });
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      sheet * mostShrink,
    );
    const cells = page.locator('main tbody tr').first().locator('td .cell');
    const boxes = await Promise.all((await cells.all()).map((cell) => cell.boundingBox()));
    const overlaps = boxes.filter(
      (box, n) => (boxes[n - 1]?.x ?? 0) + (boxes[n - 1]?.width ?? 0) > (box?.x ?? 0),
    );
    expect(overlaps).toEqual([]);
    await page.evaluate("localStorage.removeItem('gateway.columns.Requests')");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('open details are there instead of their list, at full length', async () => {
    const page = await scene.open('/models?open=model-1');
    await page.setViewportSize({ width: 1280, height: 300 });
    const details = page.getByRole('dialog');
    await details.getByRole('heading', { name: 'Its route' }).waitFor();
    expect(await hiddenIn(details)).toBeGreaterThan(100);
    await page.emulateMedia({ media: 'print' });
    expect(await hiddenIn(details)).toBe(0);
    expect(await page.getByRole('heading', { level: 1 }).isVisible()).toBe(false);
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});
