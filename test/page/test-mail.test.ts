import { afterAll, describe, expect, it } from '@jest/globals';
import { account } from '../support/admin.ts';
import { basicConfig } from '../support/gateway.ts';
import { startMailServer } from '../support/mail-server.ts';
import { pageScene } from './page-scene.ts';
import { axeInBothThemes } from './report-pages.ts';

let isFull = false;
const server = await startMailServer({
  onRcptTo: (_address, _session, done) =>
    isFull ? done(new Error('The mailbox is full, try on Monday')) : done(),
});
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      mail: {
        from: 'alerts@example.com',
        smtp: { host: '127.0.0.1', port: server.port, starttls: false },
      },
    },
  }),
);
afterAll(() => server.close());

describe('the set-up of mails', () => {
  it('sends a test mail by keyboard, shows the result of the mail server, and allows 5 in 10 minutes', async () => {
    const page = await scene.open('/');
    const step = page.locator('.steps > li').filter({ hasText: 'Mail can be sent' });
    await step.getByText('done', { exact: true }).waitFor();
    const send = step.getByRole('button', { name: 'Send a test mail to yourself' });
    await send.focus();
    await page.keyboard.press('Enter');
    await step
      .getByRole('status')
      .getByText(`The mail server accepted a mail to ${account.email}.`)
      .waitFor();
    expect(server.mails.map(({ to }) => to)).toEqual([[account.email]]);
    isFull = true;
    await page.keyboard.press('Enter');
    await step.getByRole('status').getByText('The mailbox is full, try on Monday').waitFor();
    expect(await axeInBothThemes(page)).toEqual([]);
    for (const _ of [3, 4, 5, 6]) {
      await send.press('Enter');
      await page.getByText('Waiting for the mail server').waitFor({ state: 'detached' });
    }
    await step.getByRole('alert').getByText('At most 5 test mails in 10 minutes').waitFor();
    expect(server.mails).toHaveLength(1);
  });
});
