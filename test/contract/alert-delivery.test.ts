import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { dispatchAlerts } from '../../application/budgets/dispatch-alerts.ts';
import type { AlertQueue, FailedDelivery } from '../../application/ports/budgets.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { smtpMailer } from '../../infrastructure/mail/smtp-mailer.ts';
import { alertQueue } from '../../infrastructure/postgres/alerts-store.ts';
import { budgetsStore } from '../../infrastructure/postgres/budgets-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { testDistribution } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { itOnOneServer } from '../support/one-server.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { aMember, deliveriesOf, putBudget } from './alerts-bench.ts';
import {
  aTeam,
  aUser,
  holder,
  openLedger,
  scopeOf,
  settleTogether,
  aRecord,
  unit,
  userIdOf,
  withClock,
} from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const pools: DatabasePool[] = [];
let server: MailServer;

beforeAll(async () => {
  for (let index = 0; index < 4; index += 1) pools.push(await openPool(database.url(), 5));
  // Some mails are accepted slowly.
  server = await startMailServer({}, () => sleep(Math.random() * 30));
});
afterAll(async () => {
  for (const pool of pools) await pool.end();
  await server?.close();
});

const budgets = () => budgetsStore(pools[0]!, () => true);
const queue = (): AlertQueue => alertQueue(pools[0]!, testDistribution());
const mailer = (port = server.port) =>
  smtpMailer(() => ({
    from: 'alerts@example.com',
    smtp: { host: '127.0.0.1', port, starttls: false, credentials: undefined },
  }));
/** Failures that any dispatcher has reported. */
const told: FailedDelivery[] = [];
const telemetry = { sent: () => undefined, failed: (failure: FailedDelivery) => void told.push(failure) };
const dispatcher = (pool: DatabasePool) =>
  dispatchAlerts({
    queue: alertQueue(pool, testDistribution()),
    mailer: mailer(),
    whereToLook: () => 'https://g.example.com/b',
    telemetry,
  });

/** A user with a pending alert delivery: nothing remains of an amount of 0. */
async function aWaitingAlert(): Promise<{ readonly user: Caller; readonly email: string }> {
  const user = await aUser(query);
  await putBudget(budgets(), user, 0n);
  const [delivery] = await deliveriesOf(query, user);
  return { user, email: delivery?.recipient ?? '' };
}
const stateOf = async (user: Caller) => {
  const [{ delivery_status, failure_reason } = { delivery_status: '', failure_reason: '' }] =
    await deliveriesOf(query, user);
  return [delivery_status, failure_reason];
};
/** Why a user's mails failed, as reported by any dispatcher. */
const toldOf = (user: Caller): readonly string[] =>
  told.flatMap(({ owner, reason }) =>
    owner.kind === 'user' && owner.userId === userIdOf(user) ? [reason] : [],
  );
const mailsTo = (email: string) => server.mails.filter(({ to }) => to.includes(email));

describe('deliveries of an alert', () => {
  it('are sent exactly once each, also when four dispatchers race', async () => {
    const waiting: Awaited<ReturnType<typeof aWaitingAlert>>[] = [];
    while (waiting.length < 40) waiting.push(await aWaitingAlert());
    const racing = pools.map(async (pool) => {
      const round = dispatcher(pool);
      for (let over = false; !over; ) {
        over = server.mails.length >= waiting.length;
        await round(1 + Math.floor(Math.random() * 8), () => true);
        await sleep(Math.random() * 10);
      }
    });
    await Promise.all(racing);
    for (const { user, email } of waiting) {
      expect(mailsTo(email)).toHaveLength(1);
      const [delivery, ...more] = await deliveriesOf(query, user);
      expect(more).toEqual([]);
      expect(delivery).toMatchObject({ delivery_status: 'sent', failure_reason: null });
      expect(delivery?.sent_at?.getTime()).toBeGreaterThanOrEqual(
        delivery?.attempted_at?.getTime() ?? Infinity,
      );
    }
    expect(server.mails).toHaveLength(waiting.length);
  });

  it('go to each team owner and admin, with owner, window, amount, limit, spend, remaining amount and link', async () => {
    const [team] = await aTeam(query);
    await query(`update teams set name = $2 where team_id = $1`, [
      team.keyOwner.kind === 'team' ? team.keyOwner.teamId : '',
      'R&D <Zürich>\r\nBcc: eve@example.com',
    ]);
    const told = [await aMember(query, team, 'owner'), await aMember(query, team, 'admin')];
    await clock.standAt('2028-09-15T12:00:00Z');
    await putBudget(budgets(), team, 10_000n, { cadence: 'monthly' });
    const ledger = await openLedger(database.url(), { mailReady: () => true });
    await settleTogether(ledger, [aRecord(team, 12_000n * unit + 1n)]);
    await ledger.pool.end();
    await clock.run();
    await dispatcher(pools[0]!)(25, () => true);
    for (const email of told) {
      const [mail, ...more] = mailsTo(email);
      expect(more).toEqual([]);
      const owner = 'team R&D <Zürich> Bcc: eve@example.com';
      expect(mail?.subject).toBe(`Budget alert: ${owner} has -0.200000000001 of 1 USD left`);
      expect(mail?.to).toEqual([email]);
      expect(mail?.text.split('\n').slice(2)).toEqual([
        `Owner: ${owner}`,
        'Window: 2028-09-01T00:00:00.000Z to 2028-10-01T00:00:00.000Z (monthly, UTC)',
        'Amount: 1 USD',
        'Limit: soft (nothing is refused)',
        'Spent: 1.200000000001 USD',
        'Remaining: -0.200000000001 USD',
        'Where to look: https://g.example.com/b',
        '',
      ]);
      expect(mail?.html).toContain('<td>team R&amp;D &lt;Zürich&gt; Bcc: eve@example.com</td>');
      expect(mail?.html).toContain('<td>-0.200000000001 USD</td>');
    }
  });

  it('are not retried after a failure', async () => {
    const { user, email } = await aWaitingAlert();
    const deadEnd = dispatchAlerts({ queue: queue(), mailer: mailer(1), whereToLook: () => '', telemetry });
    await deadEnd(25, () => true);
    expect(await stateOf(user)).toEqual(['failed', expect.stringContaining('ECONNREFUSED')]);
    await dispatcher(pools[1]!)(25, () => true);
    expect(await stateOf(user)).toEqual(['failed', expect.stringContaining('ECONNREFUSED')]);
    expect(toldOf(user)).toEqual([expect.stringContaining('ECONNREFUSED')]);
    expect(mailsTo(email)).toEqual([]);
  });

  it('are claimed oldest first', async () => {
    const order: string[] = [];
    for (const at of ['2028-10-02T00:00:00Z', '2028-10-01T00:00:00Z', '2028-10-03T00:00:00Z']) {
      await clock.standAt(at);
      order.push((await aWaitingAlert()).email);
    }
    await clock.run();
    const claimed = [await queue().claim(), await queue().claim(), await queue().claim()];
    expect(claimed.map((each) => each?.recipient)).toEqual([order[1], order[0], order[2]]);
    expect(await queue().claim()).toBeUndefined();
    for (const each of claimed) await queue().sent(each?.deliveryId ?? '');
  });
});

describe('a dispatcher that died while sending', () => {
  it('is noticed after more than 5 minutes: the delivery is then failed, and no mail is sent', async () => {
    const { user, email } = await aWaitingAlert();
    await clock.standAt('2028-11-01T00:00:00Z');
    expect(await queue().claim()).toMatchObject({ recipient: email });
    await clock.standAt('2028-11-01T00:05:00Z');
    for (const pool of pools) await dispatcher(pool)(25, () => true);
    expect(await stateOf(user)).toEqual(['sending', null]);
    await clock.standAt('2028-11-01T00:05:00.001Z');
    await Promise.all(pools.map((pool) => dispatcher(pool)(25, () => true)));
    expect(await stateOf(user)).toEqual(['failed', 'dispatcher_died']);
    for (const pool of pools) await dispatcher(pool)(25, () => true);
    expect(toldOf(user)).toEqual(['dispatcher_died']);
    expect(mailsTo(email)).toEqual([]);
    await clock.run();
  });

  it('cannot change the failed delivery if it reports a result later', async () => {
    const { user } = await aWaitingAlert();
    await clock.standAt('2028-11-02T00:00:00Z');
    const claimed = await queue().claim();
    await clock.standAt('2028-11-02T01:00:00Z');
    expect(await queue().giveUpStuck()).toBe(1);
    await queue().sent(claimed?.deliveryId ?? '');
    await queue().failed(claimed?.deliveryId ?? '', 'late');
    expect(await stateOf(user)).toEqual(['failed', 'dispatcher_died']);
    await clock.run();
  });

  it('is not assumed for a delivery that was sent or has failed', async () => {
    const [sent, failed] = [await aWaitingAlert(), await aWaitingAlert()];
    await clock.standAt('2028-11-03T00:00:00Z');
    for (const mark of [sent, failed]) {
      const claimed = await queue().claim();
      if (claimed?.recipient === mark.email) await queue().sent(claimed.deliveryId);
      else await queue().failed(claimed?.deliveryId ?? '', 'refused');
    }
    await clock.standAt('2029-11-03T00:00:00Z');
    expect(await queue().giveUpStuck()).toBe(0);
    await clock.run();
  });
});

describe('the report of a failed delivery', () => {
  it('is made once by several dispatchers, also if no mail is configured', async () => {
    const user = await aUser(query);
    await putBudget(
      budgetsStore(pools[0]!, () => false),
      user,
      0n,
    );
    await Promise.all(pools.map((pool) => dispatcher(pool)(25, () => true)));
    expect(toldOf(user)).toEqual(['mail_not_configured']);
  });

  itOnOneServer()('is not made while another transaction is about to make it', async () => {
    const user = await aUser(query);
    await putBudget(
      budgetsStore(pools[0]!, () => false),
      user,
      0n,
    );
    const other = await holder(database.url());
    await other.query(
      'update budget_alert_deliveries set failure_told = true where ownership_scope_key = $1',
      [scopeOf(user)],
    );
    await dispatcher(pools[0]!)(25, () => true);
    expect(toldOf(user)).toEqual([]);
    await other.rollBack();
    await dispatcher(pools[1]!)(25, () => true);
    expect(toldOf(user)).toEqual(['mail_not_configured']);
  });

  it('is not made for a delivery that was sent', async () => {
    const { user } = await aWaitingAlert();
    for (const pool of pools) await dispatcher(pool)(25, () => true);
    expect(await stateOf(user)).toEqual(['sent', null]);
    expect(toldOf(user)).toEqual([]);
  });
});

describe('the reason of a failure', () => {
  it('is stored with invalid characters replaced, truncated to at most 512 characters', async () => {
    const { user } = await aWaitingAlert();
    const claimed = await queue().claim();
    await queue().failed(claimed?.deliveryId ?? '', `\0 \ud800 ${'x'.repeat(509)}\u{1f98a}`);
    const [status, reason] = await stateOf(user);
    expect(status).toBe('failed');
    expect(reason).toMatch(/^\uFFFD \uFFFD x{500,}/);
    expect(reason?.length).toBeLessThanOrEqual(512);
  });

  it('is set if and only if the delivery failed, by constraints; an alert cannot be inserted twice', async () => {
    const { user } = await aWaitingAlert();
    const [delivery] = await deliveriesOf(query, user);
    for (const change of [
      `delivery_status = 'failed'`,
      `failure_reason = 'why'`,
      `delivery_status = 'lost'`,
      `delivery_status = 'sent', failure_reason = 'why'`,
    ])
      await expect(
        query(`update budget_alert_deliveries set ${change} where delivery_id = $1`, [delivery?.delivery_id]),
      ).rejects.toThrow(/check constraint/);
    await expect(
      query(
        `insert into budget_alerts select gen_random_uuid(), ownership_scope_key, budget_id, user_id, team_id, cadence, amount_10000,
           threshold_bps, window_start, window_end, spend_before_picousd, spend_after_picousd, created_at
         from budget_alerts where user_id = $1`,
        [userIdOf(user)],
      ),
    ).rejects.toThrow(/budget_alerts_once_key/);
  });
});
