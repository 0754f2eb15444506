import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { account } from '../support/admin.ts';
import { basicConfig } from '../support/gateway.ts';
import { startMailServer } from '../support/mail-server.ts';
import { type KeyboardPerson, keyboardPerson } from './keyboard-person.ts';
import { callsOfPage, isCall } from './page-calls.ts';
import { pageScene } from './page-scene.ts';

const mails = await startMailServer();
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      mail: {
        from: 'alerts@example.com',
        smtp: { host: '127.0.0.1', port: mails.port, starttls: false },
      },
    },
  }),
);
let keyId: string;

beforeAll(async () => {
  const kim = await scene.admin('POST', '/api/v1/admin/users', { email: 'kim@example.com', name: 'Kim' });
  const { user_id: kimsId } = kim.data as { user_id: string };
  await scene.admin('POST', '/api/v1/admin/teams', { team_id: 'walked' });
  await scene.admin('PUT', `/api/v1/admin/teams/walked/members/${kimsId}`, { role: 'member' });
  const made = await scene.admin('POST', '/api/v1/admin/api-keys', {
    name: 'laptop',
    owner_kind: 'team',
    owner_id: 'platform',
  });
  keyId = (made.data as { api_key_id: string }).api_key_id;
});
afterAll(() => mails.close());

interface Action {
  /** The action, as the title of its test. */
  readonly what: string;
  /** The path of the page on which it is done. */
  readonly at: () => string;
  /** The API calls that it makes, as written in the sources of the page. */
  readonly calls: readonly string[];
  readonly by: (person: KeyboardPerson, page: Page) => Promise<void>;
}

const leavesSecret = async ({ press, sees }: KeyboardPerson): Promise<void> => {
  await press('Done');
  await sees('Leave without copying it?');
  await press('Leave without it');
};

/** In order, because an action may need what an earlier one created. */
const actions: readonly Action[] = [
  {
    what: 'a team is created',
    at: () => '/teams',
    calls: ['POST /api/v1/admin/teams'],
    by: async ({ opens, types, press, sees }) => {
      await opens('New team', 'New team');
      await types('Id', 'keyed');
      await press('Create team');
      await sees('Team keyed');
    },
  },
  {
    what: 'a team is renamed',
    at: () => '/teams?open=keyed',
    calls: ['PATCH /api/v1/admin/teams/{team_id}'],
    by: async ({ opens, types, press, sees }) => {
      await opens('Rename…', /^Rename/);
      await types('Name', 'Keyed');
      await press('Save team');
      await sees('The team is called Keyed now.');
    },
  },
  {
    what: 'a member is added, gets another role, and is removed',
    at: () => '/teams?open=keyed',
    calls: [
      'PUT /api/v1/admin/teams/{team_id}/members/{user_id}',
      'DELETE /api/v1/admin/teams/{team_id}/members/{user_id}',
    ],
    by: async ({ opens, finds, press, tabTo, key, sees }, page) => {
      await opens('Add a member…', /^Add a member/);
      await finds('kim', /Kim/);
      await press('Add member');
      await sees('Kim is member of Keyed now.');
      await tabTo(page.getByLabel('Role of Kim'));
      await key('ArrowUp');
      await sees('Kim is admin of Keyed now.');
      await opens('Remove Kim from the team', /^Remove/);
      await press('Remove member');
      await sees('Nobody is a member yet.');
    },
  },
  {
    what: 'a person is created',
    at: () => '/people',
    calls: ['POST /api/v1/admin/users'],
    by: async ({ opens, types, press, sees }) => {
      await opens('New person', 'New person');
      await types('E-mail', 'lee@example.com');
      await types('Name', 'Lee');
      await press('Create person');
      await sees('lee@example.com');
    },
  },
  {
    what: 'a person is changed, and deactivated',
    at: () => '/people?name=Lee',
    calls: ['PATCH /api/v1/admin/users/{user_id}'],
    by: async ({ pressOn, opens, types, press, sees }, page) => {
      await pressOn(page.getByRole('row').filter({ hasText: 'lee@example.com' }));
      await opens('Change…', /^Change/);
      await types('Name', 'Lea');
      await press('Save person');
      await sees(/Lea was changed/);
      await opens('Deactivate…', 'Deactivate Lea?');
      await press('Deactivate');
      await sees('Lea is no longer active.');
    },
  },
  {
    what: 'a service account is created',
    at: () => '/service-accounts',
    calls: ['POST /api/v1/admin/service-accounts'],
    by: async ({ opens, types, finds, press, sees }) => {
      await opens('New service account', 'New service account');
      await types('Id', 'robot');
      await finds('platf', /Platform/);
      await press('Create service account');
      await sees('Service account robot');
    },
  },
  {
    what: 'a service account is changed',
    at: () => '/service-accounts?open=robot',
    calls: ['PATCH /api/v1/admin/service-accounts/{service_account_id}'],
    by: async ({ opens, types, press, sees }) => {
      await opens('Change…', /^Change/);
      await types('Name', 'Robot');
      await press('Save service account');
      await sees('Robot was changed.');
    },
  },
  {
    what: 'a key is created',
    at: () => '/keys?owner_kind=team&owner_id=platform',
    calls: ['POST /api/v1/admin/api-keys'],
    by: async (person) => {
      await person.opens('New key', 'New key');
      await person.types('Name', 'by keyboard');
      await person.press('Create key');
      await leavesSecret(person);
    },
  },
  {
    what: 'a key is changed, rotated and revoked',
    at: () => `/keys?open=${keyId}`,
    calls: [
      'PATCH /api/v1/admin/api-keys/{api_key_id}',
      'POST /api/v1/admin/api-keys/{api_key_id}/rotate',
      'DELETE /api/v1/admin/api-keys/{api_key_id}',
    ],
    by: async (person) => {
      const { opens, types, press, sees } = person;
      await opens('Change…', /^Change/);
      await types('Name', 'desk');
      await press('Save key');
      await sees('Key “desk” was changed.');
      await opens('Rotate…', /^Rotate/);
      await press('Create a new secret');
      await leavesSecret(person);
      await opens('Revoke…', /^Revoke/);
      await press('Revoke key');
      await sees('Key “desk” was revoked.');
    },
  },
  {
    what: 'a budget is previewed, set and deactivated',
    at: () => '/budgets?open=platform',
    calls: [
      'POST /api/v1/admin/spend/budgets/{owner}/dry-run',
      'PUT /api/v1/admin/spend/budgets/{owner}',
      'DELETE /api/v1/admin/spend/budgets/{owner}',
    ],
    by: async ({ opens, types, press, sees }, page) => {
      await opens('Set a budget', /^Set the budget/);
      await types('Amount in USD', '12.5');
      await press('What would it have blocked?');
      await page.getByRole('dialog').getByRole('table').last().waitFor();
      await press('Save budget');
      await sees('Platform has 12.5 USD per month.');
      await opens('Deactivate budget', /^Deactivate/);
      await press('Deactivate budget');
      await sees('Platform no longer has a budget.');
    },
  },
  {
    what: 'a rate limit is set, changed and removed',
    at: () => '/rate-limits',
    calls: ['PUT /api/v1/admin/rate-limits/{owner}', 'DELETE /api/v1/admin/rate-limits/{owner}'],
    by: async ({ opens, finds, types, press, sees }) => {
      await opens('Set a rate limit', 'Set a rate limit');
      await finds('platf', /Platform/);
      await types('Requests per minute', '60');
      await press('Save rate limit');
      await sees('Platform has a rate limit.');
      await opens('Change the rate limit of Platform', /^Change/);
      await types('Requests per minute', '70');
      await press('Save rate limit');
      await sees('The rate limit of Platform was changed.');
      await opens('Remove the rate limit of Platform', /^Remove/);
      await press('Remove rate limit');
      await sees('Platform no longer has a rate limit.');
    },
  },
  {
    what: 'a model is tested',
    at: () => '/models?open=fast',
    calls: ['POST /api/v1/admin/models/{model_id}/test'],
    by: async ({ opens, finds, press, sees }) => {
      await opens('Try this model', 'Try fast');
      await finds('a@example', /a@example\.com/);
      await press('Send one test request');
      await sees('success, 200');
    },
  },
  {
    what: 'a test mail is sent',
    at: () => '/',
    calls: ['POST /api/v1/admin/mail/test'],
    by: async ({ pressOn, press, sees }, page) => {
      const setUp = page.locator('summary', { hasText: 'Setup' });
      await page.getByRole('heading', { name: 'Needs attention' }).or(setUp).first().waitFor();
      if ((await setUp.count()) > 0) await pressOn(setUp);
      await press('Send a test mail to yourself');
      await sees('The mail server accepted a mail');
    },
  },
  {
    what: 'a token is created and revoked',
    at: () => '/account',
    calls: ['POST /api/v1/admin/tokens', 'DELETE /api/v1/admin/tokens/{admin_token_id}'],
    by: async (person) => {
      const { opens, types, press, sees } = person;
      await opens('New token', 'New API token');
      await types('Name', 'script');
      await press('Create token');
      await leavesSecret(person);
      await opens('Revoke the token script', /^Revoke/);
      await press('Revoke token');
      await sees('Token “script” was revoked.');
    },
  },
  {
    what: 'the password is changed',
    at: () => '/account',
    calls: ['POST /api/v1/auth/password'],
    by: async ({ types, press, sees }) => {
      await types('Current password', account.password);
      await types('New password', `${account.password} again`);
      await types('New password again', `${account.password} again`);
      await press('Change password');
      await sees('Your password was changed.');
    },
  },
  {
    what: 'a second factor is turned on, and removed',
    at: () => '/account',
    calls: [
      'POST /api/v1/auth/second-factor',
      'POST /api/v1/auth/second-factor/confirm',
      'DELETE /api/v1/auth/second-factor',
    ],
    by: async ({ opens, types, press, sees }, page) => {
      const password = `${account.password} again`;
      await opens('Turn it on…', 'Turn the second factor on');
      await types('Password', password);
      await press('Continue');
      const secret = (await page.getByLabel('Secret').innerText()).trim();
      await types('Code', new TOTP({ secret: Secret.fromBase32(secret) }).generate());
      await press('Turn the second factor on');
      const [code = ''] = (await page.getByLabel('Recovery codes').innerText()).trim().split('\n');
      await press('I have saved them');
      await opens('Remove it…', 'Remove the second factor?');
      await types('Password', password);
      await types('Code', code);
      await press('Remove second factor');
      await sees('The second factor was removed.');
    },
  },
  {
    what: 'a view is saved, opened and removed',
    at: () => '/observability/request-logs?model_key=fast',
    calls: [],
    by: async ({ pressOn, press, key, types, sees }, page) => {
      const menu = page.locator('summary', { hasText: 'Saved views' });
      await pressOn(menu);
      await types('Name for these filters', 'Fast');
      await key('Enter');
      await sees('The view “Fast” is saved');
      // The tab key moves the focus out of the menu, which closes it.
      await pressOn(menu);
      await pressOn(page.getByRole('link', { name: 'Fast', exact: true }));
      await pressOn(menu);
      await press('Remove the view Fast');
      await sees('None yet.');
    },
  },
  {
    what: 'an admin logs out and in again',
    at: () => '/',
    calls: ['POST /api/v1/auth/logout', 'POST /api/v1/auth/login'],
    by: async ({ pressOn, press, tabTo, key, sees }, page) => {
      await pressOn(page.locator('summary', { hasText: account.email }));
      await press('Log out');
      await sees('Log in to Model Gateway');
      await tabTo(page.getByLabel('E-mail'));
      await page.keyboard.type(account.email);
      await tabTo(page.getByLabel('Password'));
      await page.keyboard.type(`${account.password} again`);
      await key('Enter');
      await sees('Needs attention');
    },
  },
];

describe('by keyboard alone, with a visible focus that returns when a dialog closes', () => {
  it.each(actions.map((action) => [action.what, action] as const))('%s', async (_what, { at, calls, by }) => {
    const page = await scene.open(at());
    const made: string[] = [];
    page.on('response', (answer) => {
      const request = answer.request();
      if (answer.ok()) made.push(...calls.filter((call) => isCall(call, request.method(), request.url())));
    });
    await by(keyboardPerson(page), page);
    page.removeAllListeners('response');
    expect([...new Set(made)].toSorted()).toEqual([...calls].toSorted());
  });

  it('keeps the focus on a button whose act is under way, and when it was refused', async () => {
    const page = await scene.open('/teams');
    const { opens, types, press } = keyboardPerson(page);
    await opens('New team', 'New team');
    await types('Id', 'platform');
    await page.route('**/api/v1/admin/teams', async (route) => {
      await page.getByRole('button', { name: 'One moment…' }).and(page.locator(':focus')).waitFor();
      await route.continue();
    });
    await press('Create team');
    await page.getByRole('alert').getByText('There is a team of this id.').first().waitFor();
    const again = page.getByRole('button', { name: 'Create team' });
    await again.and(page.locator(':focus')).waitFor({ timeout: 2_000 });
    await page.unroute('**/api/v1/admin/teams');
  });

  it('keeps the focus on the role of a member, which the arrow keys change one by one', async () => {
    const page = await scene.open('/teams?open=walked');
    const role = page.getByLabel('Role of Kim');
    await keyboardPerson(page).tabTo(role);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.getByText('Kim is owner of walked now.').waitFor();
    await role.and(page.locator(':focus')).waitFor({ timeout: 2_000 });
    expect(await role.inputValue()).toBe('owner');
    const roles = await scene.query(`select role from team_memberships where team_id = 'walked'`);
    expect(roles).toEqual([{ role: 'owner' }]);
  });

  it('every call with which the page changes something is made', async () => {
    expect(actions.flatMap(({ calls }) => calls).toSorted()).toEqual(await callsOfPage());
  });
});
