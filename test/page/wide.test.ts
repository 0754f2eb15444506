import { describe, expect, it } from '@jest/globals';
import { isTrueWithin } from '../support/browser.ts';
import { basicConfig } from '../support/gateway.ts';
import { pageScene } from './page-scene.ts';
import { withinOneDay } from './report-pages.ts';

const usage = { 'x-simulate': 'prompt-tokens=900000000&completion-tokens=0&total-tokens=900000000' };
withinOneDay();
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      models: [
        { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast', extra_headers: usage }] },
      ],
      pricing: {
        overrides: [
          {
            provider: 'up',
            model: 'simulated-fast',
            input_usd_per_million: '9000',
            output_usd_per_million: '1',
          },
        ],
      },
    },
  }),
);

describe('a spend of millions', () => {
  it('has every digit beside the axis of its chart', async () => {
    expect((await scene.chat()).status).toBe(200);
    const page = await scene.open('/spend');
    const axis = page.locator('.recharts-yAxis-tick-labels');
    await axis
      .getByText(/^\d,\d{3},000$/)
      .first()
      .waitFor();
    // The chart finds out how wide its numbers are after it has drawn them.
    const isWhole = `[...document.querySelectorAll('.recharts-yAxis-tick-labels text')].every(
      (each) => each.getBoundingClientRect().left >= each.closest('svg').getBoundingClientRect().left)`;
    expect(await isTrueWithin(page, 20_000, isWhole)).toBe(true);
  });
});
