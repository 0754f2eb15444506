import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { account, type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { startMailServer } from '../support/mail-server.ts';
import { simulatedScene } from './simulated-scene.ts';

const password = 'smtp-password-0123456789';
/** The events that exist at the first login of a test at the mail server. */
let atLogin: Promise<unknown> | undefined;
/** The error of the mail server for a login; undefined if it accepts the login. */
let refusal: string | undefined;
const server = await startMailServer({
  authOptional: false,
  onAuth: (auth, _session, done) => {
    const answer = async (): Promise<void> => {
      atLogin ??= eventsOf();
      await atLogin;
      if (refusal === undefined && auth.password === password) done(null, { user: auth.username });
      else done(new Error(refusal ?? 'Who are you?'));
    };
    void answer();
  },
});

const mail = {
  from: 'alerts@example.com',
  smtp: { host: '127.0.0.1', port: server.port, starttls: false, username: 'gateway', password },
};
const config = (upstreamUrl: string, more: ConfigFile = { mail }): ConfigFile =>
  basicConfig(upstreamUrl, aKey(), {
    more: { server: { bind: '127.0.0.1:0', public_base_url: 'https://gateway.example.com' }, ...more },
  });

const scene = simulatedScene(config);
const replica = scene.another((upstreamUrl) => config(upstreamUrl));
const withoutMail = scene.another((upstreamUrl) => config(upstreamUrl, {}));
let admin: AdminClient;

beforeAll(async () => {
  await makeAdmin(scene.databaseUrl());
  admin = await adminClient(scene.gateway().url);
});
afterAll(() => server.close());
/** Moves the clock by more than ten minutes, so that the events of the previous test no longer count. */
beforeEach(async () => {
  refusal = undefined;
  server.mails.splice(0);
  atLogin = undefined;
  await scene.query('create table if not exists test_clock (ahead interval not null)');
  await scene.query(`insert into test_clock select '0' where not exists (select from test_clock)`);
  await scene.query(`update test_clock set ahead = ahead + interval '11 minutes'`);
  await scene.query(`create or replace function gateway_now() returns timestamptz language sql volatile
    as 'select clock_timestamp() + (select ahead from test_clock)'`);
});

const path = '/api/v1/admin/mail/test';
const eventsOf = () =>
  scene.query<{ action: string; target_kind: string; before_json: unknown; after_json: unknown }>(
    `select action, target_kind, before_json, after_json from admin_events
     where action = 'mail.test' and occurred_at > gateway_now() - interval '10 minutes'`,
  );

describe('a test mail', () => {
  it('is sent only to the admin who requests it, and recorded as an event before it is sent', async () => {
    expect((await admin('POST', path)).data).toEqual({ to: account.email, sent: true, failure: null });
    expect(server.mails).toMatchObject([
      { from: 'alerts@example.com', to: [account.email], subject: 'Test mail of the model gateway' },
    ]);
    expect(server.mails[0]?.text).toContain('the gateway at https://gateway.example.com');
    const event = {
      action: 'mail.test',
      target_kind: 'user',
      before_json: null,
      after_json: { to: account.email },
    };
    expect(await atLogin).toEqual([event]);
    expect(await eventsOf()).toEqual([event]);
    expect(await admin('POST', path, { to: 'ada@example.com' })).toMatchObject({
      status: 400,
      error: { param: 'to' },
    });
    expect(server.mails).toHaveLength(1);
  });

  it('that the mail server refuses returns the reason, without the password', async () => {
    refusal = `No entry with ${password}, not today.`;
    const { status, data, text } = await admin('POST', path);
    expect(status).toBe(200);
    expect(data).toEqual({
      to: account.email,
      sent: false,
      failure: expect.stringMatching(/No entry with \S+, not today/),
    });
    expect(text).not.toContain(password);
    expect(await eventsOf()).toHaveLength(1);
  });

  it('is refused with 409 if no mail server is configured, and records no event', async () => {
    const there = await adminClient(withoutMail().url);
    expect(await there('POST', path)).toMatchObject({ status: 409, error: { code: 'conflict' } });
    expect(await eventsOf()).toEqual([]);
  });

  it('is refused with 429 from the sixth of a user within ten minutes, also for requests at the same time', async () => {
    const there = await adminClient(replica().url);
    const answers = await Promise.all(
      [admin, there, admin, there, admin, there, admin].map((each) => each('POST', path)),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 200, 200, 200, 200, 429, 429,
    ]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.error?.code).toBe('too_many_attempts');
    expect(refused?.headers.get('retry-after')).toBe('600');
    expect(server.mails).toHaveLength(5);
    expect(await eventsOf()).toHaveLength(5);
  });
});
