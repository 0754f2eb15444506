import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { clockKind, clockOnEveryNode } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  spawnGateway,
  startGateway,
  type TestGateway,
  pricedAt,
} from '../support/gateway.ts';
import { type MailServer, type OnMail, startMailServer } from '../support/mail-server.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
let upstream: SimulatedUpstream;
let server: MailServer;
/** The gateways to stop after the test, also when it fails. */
const running = new Set<TestGateway>();
afterEach(async () => {
  for (const gateway of running) await stop(gateway);
});
async function start(file: ConfigFile): Promise<TestGateway> {
  const gateway = await startGateway(file, database.url());
  running.add(gateway);
  return gateway;
}
async function stop(gateway: TestGateway): Promise<void> {
  running.delete(gateway);
  await gateway.stop();
}
/** Called by the mail server for each complete mail, and for each recipient. */
let onMail: OnMail = () => undefined;
let onRecipient: () => void | Promise<void> = () => undefined;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  server = await startMailServer(
    {
      onRcptTo: (_address, _session, done) => {
        const answer = async (): Promise<void> => {
          await onRecipient();
          done();
        };
        void answer();
      },
    },
    (mail) => onMail(mail),
  );
  await query(`create table test_clock (ahead interval not null)`);
  await clockOnEveryNode(query);
  await query(`insert into test_clock values ('0')`);
  await query(`create or replace function gateway_now() returns timestamptz language sql ${clockKind()}
    as 'select clock_timestamp() + (select ahead from test_clock)'`);
});
afterAll(async () => {
  await upstream?.close();
  await server?.close();
});

const mail = () => ({
  from: 'alerts@example.com',
  smtp: { host: '127.0.0.1', port: server.port, starttls: false },
});

/** At 0.10 USD per million tokens, 1000 prompt tokens cost one unit of `amount_10000`. */
const costingOneUnit = (id: string, more = '') => ({
  id,
  routes: [
    {
      provider: 'up',
      upstream_model: 'simulated-fast',
      extra_headers: { 'x-simulate': `usage=last&prompt-tokens=1000&completion-tokens=0${more}` },
    },
  ],
});

function config(more: ConfigFile = {}): ConfigFile {
  return basicConfig(upstream.url, key, {
    user: { name: 'Ada', budget: { cadence: 'daily', amount_10000: 5, hard_limit: false } },
    more: {
      server: { bind: '127.0.0.1:0', public_base_url: 'https://gateway.example.com/' },
      models: [costingOneUnit('fast'), costingOneUnit('slow', '&latency-ms=700')],
      pricing: pricedAt('0.10', '0'),
      mail: mail(),
      budget_alerts: { poll_interval_secs: 1 },
      ...more,
    },
  });
}

const ask = async (url: string, model = 'fast'): Promise<number> => {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await answer.text();
  return answer.status;
};

/** Creates a pending alert mail for each of `count` owners of a new team; returns their addresses. */
async function waitingMails(team: string, count: number): Promise<readonly string[]> {
  const emails = Array.from({ length: count }, (_, index) => `${team}-${index}@example.com`);
  await query('insert into teams (team_id, name) values ($1, $1)', [team]);
  await query(
    `with people as (insert into users (email, name) select e, 'P' from unnest($2::text[]) e returning user_id)
     insert into team_memberships (team_id, user_id, role) select $1, user_id, 'owner' from people`,
    [team, emails],
  );
  await query(`select gateway_set_budget(null, $1, 'daily', 0, false, 'UTC', false, true)`, [team]);
  return emails;
}

interface State {
  readonly recipient: string;
  readonly delivery_status: string;
  readonly failure_reason: string | null;
}
const statesOf = (team: string): Promise<State[]> =>
  query<State>(
    `select recipient, delivery_status, failure_reason
     from budget_alert_deliveries join budget_alerts using (budget_alert_id, ownership_scope_key) where team_id = $1 order by 1`,
    [team],
  );
const count = (states: readonly State[], status: string): number =>
  states.filter(({ delivery_status }) => delivery_status === status).length;
const mailsTo = (emails: readonly string[]) =>
  server.mails.filter(({ to }) => to.some((each) => emails.includes(each)));

describe('with two replicas that dispatch alerts', () => {
  it('a user whose budget falls to 20 % gets one mail', async () => {
    const replicas = [await start(config()), await start(config())];
    for (let spent = 1; spent <= 3; spent += 1) expect(await ask(replicas[spent % 2]!.url)).toBe(200);
    expect(await query('select from budget_alerts')).toHaveLength(0);
    expect(await ask(replicas[0]!.url)).toBe(200);
    await eventually(() => mailsTo(['a@example.com'])[0]);
    expect(await ask(replicas[1]!.url)).toBe(200);
    await sleep(1500);
    const [received, ...more] = mailsTo(['a@example.com']);
    expect(more).toEqual([]);
    expect(received).toMatchObject({
      from: 'alerts@example.com',
      to: ['a@example.com'],
      subject: 'Budget alert: user Ada has 0.0001 of 0.0005 USD left',
      text: expect.stringContaining('Where to look: https://gateway.example.com/admin/budgets\n'),
    });
    expect(
      await query(
        `select delivery_status, sent_at >= attempted_at as in_order from budget_alert_deliveries
         where recipient = 'a@example.com'`,
      ),
    ).toEqual([{ delivery_status: 'sent', in_order: true }]);
  });
});

describe('a gateway that stops', () => {
  it('finishes the mails in progress and starts no new ones, also while a request is still served', async () => {
    const gateway = await start(config());
    const releases: (() => void)[] = [];
    onMail = () => new Promise<void>((resolve) => releases.push(resolve));
    const emails = await waitingMails('stopping', 8);
    await eventually(() => (releases.length === 5 ? true : undefined));
    const asked = ask(gateway.url, 'slow');
    await eventually(() => upstream.inFlight() === 1 || undefined);
    let stopped = false;
    const stopping = stop(gateway).then(() => (stopped = true));
    for (const release of releases.slice(0, 2)) release();
    expect(await asked).toBe(200);
    await eventually(async () => count(await statesOf('stopping'), 'sent') >= 2 || undefined);
    await sleep(200);
    const states = await statesOf('stopping');
    expect([count(states, 'sent'), count(states, 'sending'), count(states, 'pending')]).toEqual([2, 3, 3]);
    expect(stopped).toBe(false);
    for (const release of releases) release();
    await stopping;
    onMail = () => undefined;
    const after = await statesOf('stopping');
    expect([count(after, 'sent'), count(after, 'pending'), after.length]).toEqual([5, 3, 8]);
    expect(mailsTo(emails)).toHaveLength(5);
    await query(
      `update budget_alert_deliveries set delivery_status = 'sent' where delivery_status = 'pending'`,
    );
  });
});

describe('a gateway that is killed while it sends', () => {
  /** Starts a gateway process that is killed while it sends the first mail for the team. */
  async function killedWith(
    team: string,
    dying: (killed: () => Promise<void>) => void,
  ): Promise<readonly string[]> {
    const gateway = await spawnGateway(config(), database.url());
    dying(async () => {
      gateway.kill();
      await gateway.exited;
    });
    const emails = await waitingMails(team, 1);
    await gateway.exited;
    onMail = () => undefined;
    onRecipient = () => undefined;
    expect(await statesOf(team)).toMatchObject([{ delivery_status: 'sending' }]);
    return emails;
  }

  it('never causes a second mail: after 5 minutes the delivery fails with dispatcher_died', async () => {
    const taken = await killedWith('killed-after', (killed) => {
      onMail = killed;
    });
    const notTaken = await killedWith('killed-before', (killed) => {
      onRecipient = killed;
    });
    const states = async () => [...(await statesOf('killed-after')), ...(await statesOf('killed-before'))];
    await start(config());
    await query(`update test_clock set ahead = '4 minutes'`);
    await sleep(1500);
    expect(count(await states(), 'sending')).toBe(2);
    await query(`update test_clock set ahead = '5 minutes'`);
    await eventually(async () => (count(await states(), 'sending') === 0 ? true : undefined));
    await sleep(1200);
    await query(`update test_clock set ahead = '0'`);
    expect(await states()).toMatchObject([
      { delivery_status: 'failed', failure_reason: 'dispatcher_died' },
      { delivery_status: 'failed', failure_reason: 'dispatcher_died' },
    ]);
    expect(mailsTo(taken)).toHaveLength(1);
    expect(mailsTo(notTaken)).toEqual([]);
  });
});

describe('a gateway without a working mail server', () => {
  it('without mail: leaves pending mails alone, fails those of a dead dispatcher, and queues no new ones', async () => {
    const { mail: _, ...without } = config();
    const gateway = await start(without);
    await waitingMails('left', 1);
    await waitingMails('died', 1);
    await query(
      `update budget_alert_deliveries set delivery_status = 'sending', attempted_at = gateway_now() - interval '1 hour'
       where recipient = 'died-0@example.com'`,
    );
    await eventually(async () => (count(await statesOf('died'), 'failed') === 1 ? true : undefined));
    await sleep(1200);
    expect(await statesOf('left')).toMatchObject([{ delivery_status: 'pending' }]);
    await query(`update user_budgets set active = false, deactivated_at = now() where active`);
    await gateway.take({
      ...without,
      users: [{ email: 'a@example.com', name: 'Ada', budget: { cadence: 'daily', amount_10000: 0 } }],
    });
    expect(
      await query(
        `select delivery_status, failure_reason from budget_alert_deliveries d join budget_alerts a
         using (budget_alert_id, ownership_scope_key) where a.amount_10000 = 0 and a.user_id is not null`,
      ),
    ).toEqual([{ delivery_status: 'failed', failure_reason: 'mail_not_configured' }]);
  });

  it('with a mail server that is down: fails the delivery and logs the reason once', async () => {
    const dead = { ...mail(), smtp: { ...mail().smtp, port: 1 } };
    const gateway = await start(config({ mail: dead }));
    const states = await eventually(async () => {
      const found = await statesOf('left');
      return count(found, 'failed') === 1 ? found : undefined;
    });
    expect(states).toMatchObject([
      { failure_reason: expect.stringContaining('connect ECONNREFUSED 127.0.0.1:1') },
    ]);
    const told = () => gateway.log.lines.filter(({ fields }) => fields['team_id'] === 'left');
    await eventually(async () => (told().length > 0 ? true : undefined));
    await sleep(1200);
    expect(told()).toEqual([
      {
        level: 'warn',
        message: 'budget alert mail failed',
        fields: {
          delivery_id: expect.any(String),
          budget_alert_id: expect.any(String),
          team_id: 'left',
          reason: expect.stringContaining('connect ECONNREFUSED 127.0.0.1:1'),
        },
      },
    ]);
  });
});
