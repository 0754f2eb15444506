import { afterEach, describe, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { basicConfig } from '../support/gateway.ts';
import { colourAt, drawn } from './drawn-pixels.ts';
import { pageScene } from './page-scene.ts';

const models = Array.from({ length: 40 }, (_, n) => ({
  id: `model-${n}`,
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

  it('open details are there instead of their list, at full length', async () => {
    const page = await scene.open('/models?open=model-1');
    await page.setViewportSize({ width: 1280, height: 300 });
    const details = page.getByRole('dialog');
    await details.getByRole('heading', { name: 'model-1' }).first().waitFor();
    expect(await hiddenIn(details)).toBeGreaterThan(100);
    await page.emulateMedia({ media: 'print' });
    expect(await hiddenIn(details)).toBe(0);
    expect(await page.getByRole('heading', { level: 1 }).isVisible()).toBe(false);
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});
