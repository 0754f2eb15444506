import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type {
  AlertQueue,
  BudgetAlerts,
  ClaimedDelivery,
  FailedDelivery,
  ListedAlert,
} from '../../application/ports/budgets.ts';
import type { BudgetAlert } from '../../domain/budget/alert-mail.ts';
import { fromAmount10000 } from '../../domain/money/money.ts';
import { cadence, timestamp, instantText, int8, nullable } from './codecs.ts';
import type { Distribution } from './distribution.ts';
import { ownerIn } from './owner-rows.ts';
import { row } from './pool.ts';
import { storedText } from './stored-text.ts';
import { countOf } from './time-list.ts';

/** A delivery left in `sending` by a dead dispatcher is given up after this long (rule 41.7). */
const stuckMinutes = 5;
/** Characters of a failure's reason that are kept. */
const maxReasonChars = 512;
/** Deliveries that one round takes, or tries to; the rest is left to the next round. */
const deliveriesOfRound = 100;

const alertColumns = {
  user_id: nullable(t.string),
  team_id: nullable(t.string),
  owner_name: t.string,
  cadence,
  amount_10000: int8,
  window_start: timestamp,
  window_end: timestamp,
  spend_after_picousd: int8,
  hard_limit: t.boolean,
};
const failedRow = t.type({
  delivery_id: t.string,
  budget_alert_id: t.string,
  failure_reason: t.string,
  user_id: nullable(t.string),
  team_id: nullable(t.string),
});
const claimedRow = t.type({ delivery_id: t.string, recipient: t.string, ...alertColumns });
const listedRow = t.type({
  budget_alert_id: t.string,
  threshold_bps: t.number,
  spend_before_picousd: int8,
  created_at: timestamp,
  deliveries: t.array(
    t.type({
      channel: t.string,
      recipient: nullable(t.string),
      delivery_status: t.keyof({ pending: null, sending: null, sent: null, failed: null }),
      attempted_at: nullable(instantText),
      sent_at: nullable(instantText),
      failure_reason: nullable(t.string),
    }),
  ),
  ...alertColumns,
});

const ownerName = sql.fragment`
  coalesce((select u.name from users u where u.user_id = a.user_id),
           (select m.name from teams m where m.team_id = a.team_id), '')
`;

/** Of the budget that the alert belongs to: changed terms are a new budget. */
const hardLimit = sql.fragment`
  coalesce((select b.hard_limit from user_budgets b where b.budget_id = a.budget_id),
           (select b.hard_limit from team_budgets b where b.budget_id = a.budget_id), false)
`;

/** Claims one delivery, so that no two dispatchers get the same one. */
type Claim = (pool: DatabasePool) => Promise<t.TypeOf<typeof claimedRow> | null>;
/** Takes failures that were not reported yet, each once. */
type TakeFailures = (pool: DatabasePool) => Promise<readonly t.TypeOf<typeof failedRow>[]>;

const claimedColumns = sql.fragment`
  c.delivery_id, c.recipient, a.user_id, a.team_id, ${ownerName} as owner_name, a.cadence,
  a.amount_10000::text, a.window_start, a.window_end, a.spend_after_picousd::text, ${hardLimit} as hard_limit
`;

/** With `for update skip locked`, so that any number of dispatchers never wait for each other. */
const fromOneTable = {
  claim: (pool) =>
    pool.maybeOne(sql.type(row(claimedRow))`
      with claimed as (
        update budget_alert_deliveries d set delivery_status = 'sending', attempted_at = gateway_now()
        where d.delivery_id = (
          select p.delivery_id from budget_alert_deliveries p where p.delivery_status = 'pending'
          order by p.created_at for update skip locked limit 1
        )
        returning d.delivery_id, d.recipient, d.budget_alert_id
      )
      select ${claimedColumns} from claimed c join budget_alerts a using (budget_alert_id)
    `),
  failures: (pool) =>
    pool.any(sql.type(row(failedRow))`
      with taken as (
        update budget_alert_deliveries d set failure_told = true
        where d.delivery_id in (
          select f.delivery_id from budget_alert_deliveries f
          where f.delivery_status = 'failed' and not f.failure_told
          order by f.created_at limit ${deliveriesOfRound} for update skip locked
        )
        returning d.delivery_id, d.budget_alert_id, d.failure_reason
      )
      select t.delivery_id, t.budget_alert_id, t.failure_reason, a.user_id, a.team_id
      from taken t join budget_alerts a using (budget_alert_id)
    `),
} as const satisfies { readonly claim: Claim; readonly failures: TakeFailures };

const placedRow = t.type({ delivery_id: t.string, scope: t.string });

const placedDelivery = ({ delivery_id, scope }: t.TypeOf<typeof placedRow>) => sql.fragment`
  delivery_id = ${delivery_id} and ownership_scope_key = ${scope}
`;

const alertOfDelivery = sql.fragment`
  budget_alert_deliveries c join budget_alerts a
    on a.budget_alert_id = c.budget_alert_id and a.ownership_scope_key = c.ownership_scope_key
`;

/** On Citus, the oldest rows are listed first; each is then claimed on its shard, where only one process succeeds. */
const fromShards = {
  claim: async (pool) => {
    const waiting = await pool.any(sql.type(row(placedRow))`
      select delivery_id, ownership_scope_key as scope from budget_alert_deliveries
      where delivery_status = 'pending' order by created_at limit ${deliveriesOfRound}
    `);
    for (const each of waiting) {
      const { rowCount } = await pool.query(sql.unsafe`
        update budget_alert_deliveries set delivery_status = 'sending', attempted_at = gateway_now()
        where ${placedDelivery(each)} and delivery_status = 'pending'
      `);
      if (rowCount === 1)
        return pool.maybeOne(sql.type(row(claimedRow))`
          select ${claimedColumns} from ${alertOfDelivery}
          where c.delivery_id = ${each.delivery_id} and c.ownership_scope_key = ${each.scope}
        `);
    }
    return null;
  },
  failures: async (pool) => {
    const untold = await pool.any(sql.type(row(placedRow))`
      select delivery_id, ownership_scope_key as scope from budget_alert_deliveries
      where delivery_status = 'failed' and not failure_told order by created_at limit ${deliveriesOfRound}
    `);
    const taken: t.TypeOf<typeof failedRow>[] = [];
    for (const each of untold) {
      const { rowCount } = await pool.query(sql.unsafe`
        update budget_alert_deliveries set failure_told = true where ${placedDelivery(each)} and not failure_told
      `);
      if (rowCount === 1)
        taken.push(
          await pool.one(sql.type(row(failedRow))`
            select c.delivery_id, c.budget_alert_id, c.failure_reason, a.user_id, a.team_id from ${alertOfDelivery}
            where c.delivery_id = ${each.delivery_id} and c.ownership_scope_key = ${each.scope}
          `),
        );
    }
    return taken;
  },
} as const satisfies { readonly claim: Claim; readonly failures: TakeFailures };

const taking = { none: fromOneTable, citus: fromShards } as const satisfies Record<Distribution, unknown>;

/** Hands out deliveries to any number of dispatchers, each mail once. */
export const alertQueue = (pool: DatabasePool, distribution: Distribution): AlertQueue => ({
  claim: async () => {
    const found = await taking[distribution].claim(pool);
    return found === null ? undefined : claimedDelivery(found);
  },
  sent: async (deliveryId) => {
    await pool.query(sql.unsafe`
      update budget_alert_deliveries set delivery_status = 'sent', sent_at = gateway_now()
      where delivery_id = ${deliveryId} and delivery_status = 'sending'
    `);
  },
  failed: async (deliveryId, reason) => {
    await pool.query(sql.unsafe`
      update budget_alert_deliveries set delivery_status = 'failed', failure_reason = ${storedText(reason).slice(0, maxReasonChars)}
      where delivery_id = ${deliveryId} and delivery_status = 'sending'
    `);
  },
  giveUpStuck: async () => {
    const { rowCount } = await pool.query(sql.unsafe`
      update budget_alert_deliveries set delivery_status = 'failed', failure_reason = 'dispatcher_died'
      where delivery_status = 'sending' and attempted_at < gateway_now() - make_interval(mins => ${stuckMinutes})
    `);
    return rowCount;
  },
  takeFailures: async () => (await taking[distribution].failures(pool)).map(failedDelivery),
});

export const alertsStore = (pool: DatabasePool): BudgetAlerts => ({
  page: async (budgetAlertId, { page, pageSize }) => {
    const asked =
      budgetAlertId === undefined ? sql.fragment`true` : sql.fragment`a.budget_alert_id = ${budgetAlertId}`;
    const rows = sql.fragment`budget_alerts a where ${asked}`;
    const items = await pool.any(sql.type(row(listedRow))`
      select a.budget_alert_id, a.threshold_bps, a.user_id, a.team_id, ${ownerName} as owner_name, a.cadence,
             a.amount_10000::text, a.window_start, a.window_end, a.spend_before_picousd::text,
             a.spend_after_picousd::text, ${hardLimit} as hard_limit, a.created_at,
             (select coalesce(json_agg(json_build_object(
                       'channel', d.channel, 'recipient', d.recipient, 'delivery_status', d.delivery_status,
                       'attempted_at', d.attempted_at, 'sent_at', d.sent_at, 'failure_reason', d.failure_reason)
                       order by d.recipient), '[]')
              from budget_alert_deliveries d
              where d.budget_alert_id = a.budget_alert_id and d.ownership_scope_key = a.ownership_scope_key) as deliveries
      from ${rows} order by a.created_at desc, a.budget_alert_id desc
      limit ${pageSize} offset ${(page - 1) * pageSize}
    `);
    return { items: items.map(listedAlert), ...(await countOf(pool, rows)) };
  },
});

type AlertColumns = Pick<t.TypeOf<typeof listedRow>, keyof typeof alertColumns>;

const alertOf = (found: AlertColumns): BudgetAlert => ({
  ownerKind: found.user_id === null ? 'team' : 'user',
  ownerName: found.owner_name,
  cadence: found.cadence,
  window: { from: found.window_start, until: found.window_end },
  amount: fromAmount10000(found.amount_10000),
  spent: found.spend_after_picousd,
  hardLimit: found.hard_limit,
});

const failedDelivery = (found: t.TypeOf<typeof failedRow>): FailedDelivery => ({
  deliveryId: found.delivery_id,
  budgetAlertId: found.budget_alert_id,
  owner: ownerIn(found),
  reason: found.failure_reason,
});

const claimedDelivery = (found: t.TypeOf<typeof claimedRow>): ClaimedDelivery => ({
  deliveryId: found.delivery_id,
  recipient: found.recipient,
  alert: alertOf(found),
});

const listedAlert = (found: t.TypeOf<typeof listedRow>): ListedAlert => ({
  ...alertOf(found),
  budgetAlertId: found.budget_alert_id,
  owner: ownerIn(found),
  thresholdBps: found.threshold_bps,
  spentBefore: found.spend_before_picousd,
  createdAt: found.created_at,
  deliveries: found.deliveries.map((each) => ({
    channel: each.channel,
    recipient: each.recipient ?? undefined,
    status: each.delivery_status,
    attemptedAt: each.attempted_at ?? undefined,
    sentAt: each.sent_at ?? undefined,
    failureReason: each.failure_reason ?? undefined,
  })),
});
