import { describe, expect, it } from '@jest/globals';
import { pageScene } from './page-scene.ts';

const scene = pageScene();
const root = '/api/v1/admin';

async function makeKey(name: string): Promise<{ readonly api_key_id: string }> {
  const made = await scene.admin('POST', `${root}/api-keys`, {
    name,
    owner_kind: 'team',
    owner_id: 'platform',
  });
  expect(made.status).toBe(200);
  return made.data as { readonly api_key_id: string };
}

describe('without a network', () => {
  it('the page says so, and reads again by itself when there is one', async () => {
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

  it('a change fails at once, and is not made later', async () => {
    const { api_key_id: id } = await makeKey('kept');
    const page = await scene.open(`/keys?open=${id}`);
    await page.getByRole('button', { name: 'Revoke…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke key “kept”?' });
    await dialog.waitFor();
    await page.context().setOffline(true);
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await dialog.getByRole('alert').getByText('Nothing that was not confirmed has been changed.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const isRead = page.waitForResponse((answer) => answer.url().endsWith(id));
    await page.context().setOffline(false);
    // A change that waited for the network would go before what is read because it is there.
    await isRead;
    const now = (await scene.admin('GET', `${root}/api-keys/${id}`)).data as { readonly revoked_at: unknown };
    expect(now.revoked_at).toBeNull();
  });
});
