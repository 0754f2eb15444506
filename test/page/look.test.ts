import { describe, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { basicConfig } from '../support/gateway.ts';
import { axeViolations, centreDistance, leastCentreDistance, pageScene } from './page-scene.ts';

const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      models: ['fast', 'slow'].map((id) => ({
        id,
        routes: [{ provider: 'up', upstream_model: 'simulated-fast' }],
      })),
    },
  }),
);

/** The position and size of an element on the screen. */
async function boxOf(thing: Locator) {
  const box = await thing.boundingBox();
  if (box === null) throw new Error(`${String(thing)} is not seen`);
  return box;
}

describe('the drawer of a key', () => {
  it('has its id in one line, and the links of two models at least 24 px apart', async () => {
    const made = await scene.admin('POST', '/api/v1/admin/api-keys', {
      name: 'two models',
      owner_kind: 'team',
      owner_id: 'platform',
      allowed_models: ['fast', 'slow'],
    });
    const { api_key_id: id } = made.data as { readonly api_key_id: string };
    const page = await scene.open(`/keys?open=${id}`);
    const { height } = await boxOf(page.getByRole('dialog').getByText(id));
    expect(height).toBeLessThan(20);
    const model = (name: string) => page.getByRole('dialog').getByRole('link', { name, exact: true });
    expect(await centreDistance(model('fast'), model('slow'))).toBeGreaterThanOrEqual(leastCentreDistance);
    expect(await axeViolations(page)).toEqual([]);
  });
});

describe('badges', () => {
  it('have the same vertical position and height with and without an icon', async () => {
    const page = await scene.open('/teams?open=platform');
    const badges = page.getByRole('dialog').locator('.pairs .badge');
    await badges.getByText('file').waitFor();
    const [withIcon, without] = [await boxOf(badges.first()), await boxOf(badges.last())];
    expect([without.y, without.height]).toEqual([withIcon.y, withIcon.height]);
  });
});

describe('the field of an instant in a filter', () => {
  it('is at least as wide as its content', async () => {
    const page = await scene.open('/observability/request-logs?range=custom');
    const field = page.getByLabel('From (UTC)');
    const { width } = await boxOf(field);
    await field.evaluate((input: { style: { width: string } }) => (input.style.width = 'max-content'));
    expect(width).toBeGreaterThanOrEqual((await boxOf(field)).width);
  });
});

describe('the search', () => {
  it('has at least 3 px on each side of its field for the focus ring', async () => {
    const page = await scene.open('/');
    await page.keyboard.press('/');
    const field = await boxOf(page.getByRole('combobox'));
    const room = await boxOf(page.locator('.search-room'));
    expect(field.x - room.x).toBeGreaterThanOrEqual(3);
    expect(room.x + room.width - field.x - field.width).toBeGreaterThanOrEqual(3);
  });
});
