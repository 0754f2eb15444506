import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { basicConfig } from '../support/gateway.ts';
import { colourAt, drawn } from './drawn-pixels.ts';
import { pageScene } from './page-scene.ts';

const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    user: { budget: { cadence: 'daily', amount_10000: 1, hard_limit: false } },
    route: { extra_headers: { 'x-simulate': 'usage=last' } },
  }),
);

describe('in forced colours', () => {
  beforeAll(async () => {
    for (let n = 0; n < 4; n += 1) await scene.chat();
    await scene.page().emulateMedia({ forcedColors: 'active', colorScheme: 'dark' });
  });
  afterAll(() => scene.page().emulateMedia({ forcedColors: null, colorScheme: null }));

  it('swatches of a legend have the colours of the bars, and a budget shows its share and its mark', async () => {
    const page = await scene.open('/spend');
    const bars = page.locator('.recharts-bar-rectangle path');
    await bars.last().waitFor();
    const swatch = await drawn(page.locator('.legend .swatch').first());
    expect(colourAt(swatch, 0.5)).toBe(colourAt(await drawn(bars.last()), 0.5));
    const meter = await drawn(page.locator('.meter').first());
    expect(colourAt(meter, 0.3)).not.toBe(colourAt(meter, 0.95));
    const aroundTheMark = [0.79, 0.8, 0.81, 0.82].map((x) => colourAt(meter, x));
    expect(new Set([...aroundTheMark, colourAt(meter, 0.95)]).size).toBeGreaterThan(1);
  });

  it('the timeline of a request shows when each step began and ended', async () => {
    const page = await scene.open('/observability/request-logs');
    await page.locator('main tr.opens td').first().click();
    const tracks = page.getByRole('dialog').locator('.timeline-track');
    await tracks.first().waitFor();
    const first = await drawn(tracks.first());
    const last = await drawn(tracks.last());
    const background = colourAt(last, 0.001);
    expect(colourAt(first, 0.001)).not.toBe(background);
    const alongTheLast = Array.from({ length: 200 }, (_, index) => colourAt(last, (index + 0.5) / 200));
    expect(new Set(alongTheLast).size).toBeGreaterThan(1);
  });

  it('the chosen one of several tabs, ranges and pages differs from the others', async () => {
    const page = await scene.open('/models');
    const underline = async (name: string) =>
      colourAt(await drawn(page.getByRole('tab', { name })), 0.5, 0.96);
    expect(await underline('Models')).not.toBe(await underline('Providers'));
    const corner = async (name: string) =>
      colourAt(await drawn(page.getByRole('link', { name, exact: true })), 0.9);
    expect(await corner('Models')).not.toBe(await corner('Spend'));
    await scene.open('/observability/request-logs');
    const edge = async (name: string) =>
      colourAt(await drawn(page.getByRole('button', { name, exact: true })), 0.06);
    expect(await edge('All')).not.toBe(await edge('Custom'));
  });
});
