import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../e2e/traces.ts';
import { basicConfig } from '../support/gateway.ts';
import { bearerChat, filtersOf, inBothThemes } from './owner-scene.ts';
import { axeViolations, pageScene } from './page-scene.ts';

/** A model whose answer stops in the middle until the client leaves. */
const halting = {
  id: 'halting',
  routes: [
    { provider: 'up', upstream_model: 'simulated-fast', extra_headers: { 'x-simulate': 'chunks=4&hang=2' } },
  ],
};
const fast = { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast' }] };
const scene = pageScene((upstream, key) => basicConfig(upstream, key, { more: { models: [fast, halting] } }));
const root = '/api/v1/admin';

interface Key {
  readonly api_key_id: string;
  readonly name: string;
  readonly api_key: string;
  readonly version: number;
  readonly allowed_models: readonly string[];
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly owner_id: string;
}

async function makeKey(body: object = {}): Promise<Key> {
  const made = await scene.admin('POST', `${root}/api-keys`, {
    name: 'robot',
    owner_kind: 'team',
    owner_id: 'platform',
    ...body,
  });
  expect(made.status).toBe(200);
  return made.data as Key;
}

const keyNow = async ({ api_key_id: id }: Pick<Key, 'api_key_id'>): Promise<Key> =>
  (await scene.admin('GET', `${root}/api-keys/${id}`)).data as Key;

const openKey = (key: Key) => scene.open(`/keys?open=${key.api_key_id}`);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
/** The page promises that a revoked key stops working within 5 seconds. */
const revokedWithinMs = 5000;
const statusOf = async (key: string): Promise<number> => (await bearerChat(scene.gateway().url, key)).status;

let person: string;
beforeAll(async () => {
  const made = await scene.admin('POST', `${root}/users`, { email: 'kim@example.com', name: 'Kim' });
  person = (made.data as { user_id: string }).user_id;
  await scene.admin('POST', `${root}/service-accounts`, {
    service_account_id: 'indexer',
    team_id: 'platform',
    name: 'Indexer',
  });
});

describe('the list of keys', () => {
  it('shows each key with its owner, and each filter is in the address', async () => {
    await makeKey({ name: 'of kim', owner_kind: 'user', owner_id: person, allowed_models: ['fast'] });
    const gone = await makeKey({ name: 'gone key' });
    await scene.admin('DELETE', `${root}/api-keys/${gone.api_key_id}`);
    const page = await scene.open('/keys');
    const row = (name: string) => page.getByRole('row', { name });
    await row('of kim').waitFor();
    expect(await row('of kim').innerText()).toMatch(/active[\s\S]*Kim person[\s\S]*fast[\s\S]*never/);
    await page.locator('.filters').getByLabel('Status').selectOption('revoked');
    await row('of kim').waitFor({ state: 'detached' });
    expect(await row('gone key').innerText()).toContain('revoked');
    await page.locator('.filters').getByLabel('Status').selectOption('');
    await page.getByLabel('Kind of owner').selectOption('user');
    await page.getByLabel('Owner id').fill(person);
    await row('gone key').waitFor({ state: 'detached' });
    await page.locator('.filters').getByLabel('Name').fill('of k');
    await page.waitForURL(/name=of/);
    expect(filtersOf(page)).toEqual({ owner_kind: 'user', owner_id: person, name: 'of k' });
    await page.getByText('1 key', { exact: true }).waitFor();
    await page.reload();
    await row('of kim').waitFor();
    await button(page, 'Remove the filter Name: of k').click();
    await page.waitForURL((url) => !url.searchParams.has('name'));
  });

  it('links from the drawer to owner, requests and audit, and Back opens a closed drawer again', async () => {
    const key = await makeKey({ owner_kind: 'service_account', owner_id: 'indexer' });
    const page = await openKey(key);
    await page.getByRole('dialog').getByRole('link', { name: 'Its requests' }).waitFor();
    const links = await page.getByRole('dialog').getByRole('link').all();
    const hrefs = await Promise.all(links.map((link) => link.getAttribute('href')));
    expect(hrefs).toContain('/admin/service-accounts?open=indexer');
    expect(hrefs).toContain(`/admin/observability/request-logs?api_key_id=${key.api_key_id}`);
    expect(hrefs).toContain(`/admin/audit?target_id=${key.api_key_id}`);
    await page.keyboard.press('Escape');
    await page.waitForURL((url) => !url.searchParams.has('open'));
    await page.goBack();
    await page.getByRole('dialog').waitFor();
  });

  it('shows a hint if nothing matches or no key exists, and an error with request id and retry button', async () => {
    const page = await scene.open('/keys?name=nobody-has-this');
    await page.getByText('No keys match').waitFor();
    await page.route('**/api/v1/admin/api-keys?*', (route) => route.fulfill({ json: emptyList }));
    await scene.open('/keys');
    await page.getByText('npx gateway keys create').waitFor();
    await page.unroute('**/api/v1/admin/api-keys?*');
    await page.route('**/api/v1/admin/api-keys?*', (route) =>
      route.fulfill({ status: 500, headers: { 'x-request-id': 'req-7' }, json: failure }),
    );
    await scene.open('/keys');
    await page.getByText('Request id req-7').waitFor();
    await page.unroute('**/api/v1/admin/api-keys?*');
    await button(page, 'Try again').click();
    await page.getByRole('row').nth(1).waitFor();
  });
});

const emptyList = {
  data: { items: [], page: 1, page_size: 50, total: 0, total_is_lower_bound: false },
  meta: { generated_at: '2026-01-01T00:00:00.000Z' },
};
const failure = {
  error: { message: 'It broke.', type: 'internal_error', param: null, code: 'internal_error' },
};

describe('a new key', () => {
  it('of a service account says that the team pays for its requests', async () => {
    const page = await scene.open('/keys');
    await button(page, 'New key').click();
    const form = page.getByRole('dialog');
    await form.getByText('Its owner pays for the requests made with it').waitFor();
    await form.getByLabel('Kind of owner').selectOption('service_account');
    await form.getByText('The team of this service account pays for the requests made with it').waitFor();
  });

  it('is created for an owner found by search, shows its secret once, and warns until the secret is copied', async () => {
    const page = await scene.open('/teams');
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await button(page, 'New key').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('by hand');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('kim@');
    await page.getByRole('option', { name: 'Kim kim@example.com' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Kim pays for the requests made with it').waitFor();
    await button(page, 'Create key').focus();
    await page.keyboard.press('Enter');
    const field = page.getByLabel('API key', { exact: true });
    const secret = await field.inputValue();
    expect(await page.evaluate('getSelection()?.toString() ?? ""')).toBe(secret);
    expect(await statusOf(secret)).toBe(200);
    const [made] = await scene.query('select user_id from api_keys where name = $1', ['by hand']);
    expect(made).toEqual({ user_id: person });
    expect(await axeViolations(page)).toEqual([]);
    await button(page, 'Done').click();
    await page.getByRole('heading', { name: 'Leave without copying it?' }).waitFor();
    await button(page, 'Stay').click();
    await page.goBack();
    await page.getByRole('heading', { name: 'Leave without copying it?' }).waitFor();
    await button(page, 'Stay').click();
    await field.focus();
    await page.keyboard.press('Control+c');
    await page.getByText('Copied.').waitFor();
    await button(page, 'Done').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);
  });

  it('warns until the whole secret is copied, alone or within its settings: another text or a part of it is not enough', async () => {
    const page = await scene.open('/keys?owner_kind=team&owner_id=platform');
    await button(page, 'New key').click();
    await page.getByLabel('Name', { exact: true }).last().fill('to copy');
    await button(page, 'Create key').click();
    const notYet = page.getByText('Not copied yet.');
    await page.getByText('It is shown only this once').click({ clickCount: 3 });
    await page.keyboard.press('Control+c');
    expect(await notYet.count()).toBe(1);
    await page.getByLabel('API key', { exact: true }).focus();
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Control+c');
    expect(await notYet.count()).toBe(1);
    await page.getByRole('tabpanel').locator('pre').focus();
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('dialog pre'))");
    await page.keyboard.press('Control+c');
    await page.getByText('Copied.').waitFor();
    await button(page, 'Done').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('is created with models and expiry, and shows settings for each client and the answer to a test request', async () => {
    const page = await scene.open('/keys?owner_kind=team&owner_id=platform');
    await button(page, 'New key').click();
    await page.getByLabel('Name', { exact: true }).last().fill('to paste');
    await page.getByLabel('Only these').check();
    await page.getByRole('button', { name: 'Create key', disabled: true }).waitFor();
    await page.getByLabel('fast').check();
    await button(page, 'In 30 days').click();
    await button(page, 'Create key').click();
    const secret = await page.getByLabel('API key', { exact: true }).inputValue();
    const { url } = scene.gateway();
    const tab = async (name: string): Promise<string> => {
      await page.getByRole('tab', { name, exact: true }).click();
      return page.getByLabel(`${name}: what to paste`).innerText();
    };
    expect(await tab('curl')).toContain(`curl ${url}/v1/chat/completions`);
    expect(await tab('OpenAI Python')).toContain(`OpenAI(base_url="${url}/v1", api_key="${secret}")`);
    expect(await tab('OpenAI TypeScript')).toContain(`new OpenAI({ baseURL: "${url}/v1"`);
    expect(await tab('Anthropic Python')).toContain(`Anthropic(base_url="${url}", api_key="${secret}")`);
    expect(await tab('Anthropic TypeScript')).toContain(`new Anthropic({ baseURL: "${url}"`);
    expect(JSON.parse(await tab('Claude Code'))).toEqual({
      model: 'fast',
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: secret,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'fast',
      },
    });
    expect(await tab('Codex')).toContain(`base_url = "${url}/v1"`);
    expect(JSON.parse(await tab('opencode'))).toMatchObject({
      provider: { gateway: { options: { baseURL: `${url}/v1`, apiKey: secret } } },
    });
    expect(await tab('Environment')).toContain(`export ANTHROPIC_BASE_URL='${url}'`);
    await page.getByRole('tab', { name: 'Environment' }).press('Home');
    expect(await page.getByRole('tab', { name: 'curl' }).getAttribute('aria-selected')).toBe('true');
    await button(page, 'Send one request').click();
    await page.getByText('done after').waitFor();
    expect(await page.getByLabel('Answer').innerText()).toContain('simulated answer');
    expect(await axeViolations(page)).toEqual([]);
    const [made] = await scene.query('select allowed_models, expires_at from api_keys where name = $1', [
      'to paste',
    ]);
    expect(made).toMatchObject({ allowed_models: ['fast'], expires_at: expect.any(Date) });
    await page.getByRole('button', { name: 'Close' }).click();
    await button(page, 'Leave without it').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('shows the answer to a test request while it is still being streamed', async () => {
    const page = await scene.open('/keys?owner_kind=team&owner_id=platform');
    await button(page, 'New key').click();
    await page.getByLabel('Name', { exact: true }).last().fill('to stream');
    await page.getByLabel('Only these').check();
    await page.getByLabel('halting').check();
    await button(page, 'Create key').click();
    await button(page, 'Send one request').click();
    const text = page.getByLabel('Answer');
    await text.waitFor();
    expect(await text.innerText()).not.toBe('');
    await page.getByRole('button', { name: 'Waiting for the answer…', disabled: true }).waitFor();
    expect(await page.getByText('done after').count()).toBe(0);
    await page.getByRole('button', { name: 'Close' }).click();
    await button(page, 'Leave without it').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('for an unknown owner in the address shows an error that names `owner_id`', async () => {
    const page = await scene.open('/keys?owner_kind=team&owner_id=no-such-team');
    await button(page, 'New key').click();
    await page.getByLabel('Name', { exact: true }).last().fill('x');
    await button(page, 'Create key').click();
    await page.getByRole('alert').first().waitFor();
    expect(await page.getByRole('group', { name: 'Owner' }).count()).toBe(0);
    const said = await page.getByRole('dialog').innerText();
    expect(said).toContain('owner_id');
  });
});

describe('an existing key', () => {
  it('is changed in name, models and expiry', async () => {
    const key = await makeKey({ name: 'before' });
    const page = await openKey(key);
    await button(page, 'Change…').click();
    await page.getByRole('button', { name: 'Save key', disabled: true }).waitFor();
    await page.getByLabel('Name', { exact: true }).last().fill('after');
    await page.getByLabel('Only these').check();
    await page.getByLabel('fast').check();
    await page.getByLabel('Expires (UTC)').fill('2030-01-31T12:30');
    await button(page, 'Save key').click();
    await page.getByText('Key “after” was changed.').waitFor();
    expect(await keyNow(key)).toMatchObject({
      name: 'after',
      allowed_models: ['fast'],
      expires_at: '2030-01-31T12:30:00.000Z',
    });
    await page.getByRole('heading', { name: 'Key “after”' }).waitFor();
  });

  it('shows an error at the field for a blank name, and a warning for an expiry in the past', async () => {
    const page = await openKey(await makeKey());
    await button(page, 'Change…').click();
    const name = page.getByLabel('Name', { exact: true }).last();
    await name.fill('   ');
    await page.getByLabel('Expires (UTC)').fill('2001-01-01T00:00');
    await page.getByText('It is in the past').waitFor();
    await button(page, 'Save key').click();
    await page.getByText('must be text of 1 to 128 characters').first().waitFor();
    expect(await name.getAttribute('aria-invalid')).toBe('true');
  });

  it('that another admin changed meanwhile shows both versions, and either can be kept', async () => {
    const key = await makeKey({ name: 'first' });
    const page = await openKey(key);
    const name = page.getByLabel('Name', { exact: true }).last();
    await button(page, 'Change…').click();
    await name.fill('mine');
    await scene.admin('PATCH', `${root}/api-keys/${key.api_key_id}`, { name: 'theirs' });
    await button(page, 'Save key').click();
    await page.getByRole('cell', { name: 'theirs' }).waitFor();
    expect(await page.getByRole('row', { name: /Name/ }).last().innerText()).toMatch(
      /differs\s+theirs\s+mine/,
    );
    expect((await keyNow(key)).name).toBe('theirs');
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'Take theirs').click();
    expect(await name.inputValue()).toBe('theirs');
    await page.locator('dialog.dialog input:focus').waitFor();
    await name.fill('mine');
    await scene.admin('PATCH', `${root}/api-keys/${key.api_key_id}`, { allowed_models: ['fast'] });
    await button(page, 'Save key').click();
    await button(page, 'Apply mine on top').click();
    await page.getByText('Key “mine” was changed.').waitFor();
    expect(await keyNow(key)).toMatchObject({ name: 'mine', allowed_models: ['fast'] });
  });

  it('is rotated, and both secrets work during the overlap', async () => {
    const key = await makeKey();
    const page = await openKey(key);
    await button(page, 'Rotate…').click();
    await page.getByLabel('The current secret stays valid').selectOption('3600');
    await button(page, 'Create a new secret').click();
    const secret = await page.getByLabel('API key', { exact: true }).inputValue();
    expect(secret).not.toBe(key.api_key);
    expect(await statusOf(secret)).toBe(200);
    expect(await statusOf(key.api_key)).toBe(200);
    await button(page, 'Done').click();
    await button(page, 'Leave without it').click();
  });

  it('from the file says at its rotation that the file brings its secret back; another key does not', async () => {
    const says = 'The configuration file has this key';
    const { items } = (await scene.admin('GET', `${root}/api-keys?owner_kind=user`)).data as {
      readonly items: readonly (Key & { readonly from_config: boolean })[];
    };
    const ofFile = items.find((key) => key.from_config);
    if (ofFile === undefined) throw new Error('the file has no key');
    const page = await openKey(ofFile);
    await button(page, 'Rotate…').click();
    expect(await page.getByRole('dialog').last().innerText()).toContain(says);
    await openKey(await makeKey());
    await button(page, 'Rotate…').click();
    expect(await page.getByRole('dialog').last().innerText()).not.toContain(says);
  });

  it('rotated by somebody else a moment ago, the conflict says which secret another rotation ends', async () => {
    const key = await makeKey();
    const page = await openKey(key);
    await button(page, 'Rotate…').click();
    await page.getByLabel('The current secret stays valid').selectOption('3600');
    const theirs = await scene.admin('POST', `${root}/api-keys/${key.api_key_id}/rotate`, {
      overlap_secs: 600,
    });
    expect(theirs.status).toBe(200);
    await button(page, 'Create a new secret').click();
    const row = page.getByRole('row', { name: 'Secret before the current one' });
    expect(await row.innerText()).toMatch(/differs\s+works until [\d -]+:\d\d UTC\s+stops working at once/);
    expect(await statusOf(key.api_key)).toBe(200);
    await button(page, 'Take theirs').click();
    await row.waitFor({ state: 'detached' });
    expect(await statusOf(key.api_key)).toBe(200);
  });

  it('is revoked only after confirmation, and requests with it are then refused with 401', async () => {
    const key = await makeKey({ name: 'to end' });
    const page = await openKey(key);
    await button(page, 'Revoke…').click();
    await page.getByText('It stops working within 5 seconds, for good.').waitFor();
    await button(page, 'Cancel').click();
    expect((await keyNow(key)).revoked_at).toBeNull();
    expect(await statusOf(key.api_key)).toBe(200);
    await button(page, 'Revoke…').click();
    await button(page, 'Revoke key').click();
    await page.getByText('Key “to end” was revoked.').waitFor();
    expect((await keyNow(key)).revoked_at).not.toBeNull();
    const isRefused = async () => ((await statusOf(key.api_key)) === 401 ? true : undefined);
    await eventually(isRefused, revokedWithinMs);
    // The drawer loads the key again after the notice appears.
    await page.getByRole('button', { name: 'Revoke…', exact: true, disabled: true }).waitFor();
  });
});

describe('axe-core', () => {
  it('finds no violations in the list, the drawer and the forms, in both themes', async () => {
    const key = await makeKey();
    const page = await scene.open('/keys');
    await page.getByRole('row').nth(1).waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'New key').click();
    await page.getByLabel('Only these').check();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await openKey(key);
    await button(page, 'Rotate…').waitFor();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    await button(page, 'Revoke…').click();
    await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    for (const other of ['Change…', 'Rotate…']) {
      await button(page, 'Cancel').click();
      await button(page, other).click();
      await inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));
    }
  });
});
