import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { dispatchAlerts } from '../../application/budgets/dispatch-alerts.ts';
import type { SettlementRecord } from '../../application/ports/ledger.ts';
import type { Mailer } from '../../application/ports/mailer.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { localJournal } from '../../infrastructure/journal/journal.ts';
import type { RecoveredFile } from '../../infrastructure/journal/recovery.ts';
import { alertQueue } from '../../infrastructure/postgres/alerts-store.ts';
import { oneDatabase } from '../../infrastructure/postgres/ledger-place.ts';
import { replayJournaled } from '../../infrastructure/postgres/ledger-store.ts';
import {
  aRecord,
  aTeam,
  aUser,
  openLedger,
  type OpenLedger,
  pricedAt,
  rowsOf,
  scopeOf,
  settleTogether,
  setUserBudget,
  spendOf,
  unit,
  unpriced,
  userIdOf,
  withClock,
  withLedgers,
  wordOf,
} from '../contract/ledger-bench.ts';
import { aLimit, askTogether, endOf, limitedAsk, takenOf } from '../contract/limits-bench.ts';
import { tcpProxy, type TcpProxy } from '../contract/tcp-proxy.ts';
import { testDistribution } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { always, bytesOf } from './journal-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url, 2);
const clock = withClock(query);
const at = new Date('2028-05-10T12:00:00.123Z');
const yesterday = new Date('2028-05-09T23:59:59.999Z');

/** A ledger that has lost its database, and a journal beside it. */
async function cutOff(
  folder: string,
): Promise<{ ledger: OpenLedger; proxy: TcpProxy; close: () => Promise<void> }> {
  const proxy = await tcpProxy();
  const journal = localJournal({
    directory: folder,
    onFault: (error) => {
      throw error;
    },
    onRecovered: () => undefined,
  });
  const ledger = await openLedger(proxy.to(database.url()), { journal: journal.keep, connections: 2 });
  await proxy.refuse();
  const close = async (): Promise<void> => {
    await journal.close();
    await ledger.pool.end();
    await proxy.close();
  };
  return { ledger, proxy, close };
}

const deferrable = <R extends SettlementRecord>(record: R, to = at): R => ({ ...record, deferrableTo: to });

type Replaying = Parameters<typeof replayJournaled>[1];

const replayOf = ({ pool }: OpenLedger, over: Partial<Replaying>) =>
  replayJournaled(oneDatabase(pool), {
    closeOnBlock: () => false,
    mailReady: () => false,
    onFault: () => undefined,
    ...over,
  });

/** Settles the records in the folder, as another process does when it starts. */
async function settleFolder(
  folder: string,
  ledger = ledgers[0]!,
  over: Partial<Replaying> = {},
): Promise<readonly RecoveredFile[]> {
  const recovered: RecoveredFile[] = [];
  const journal = localJournal({
    directory: folder,
    onFault: (error) => {
      throw error;
    },
    onRecovered: (file) => void recovered.push(file),
  });
  await journal.recover(replayOf(ledger, over), always);
  return recovered;
}

/** Everything that settlements write, except for the database session that counts it. */
const written = [
  'select * from usage_cost_events order by request_log_id',
  'select * from request_logs order by request_log_id',
  'select * from request_log_attempts order by request_log_id, attempt_number',
  'select * from request_log_tags order by request_log_id, tag_key',
  'select * from usage_daily_totals order by 1, 2',
  'select * from usage_rollups order by 1, 2, 3, 4',
  'select bucket_start, agent_harness_key, sum(request_count) from harness_rollups group by 1, 2 order by 1, 2',
  `select user_id, bucket_start, sum(exposed_tool_sum), sum(exposed_tool_rows), sum(invoked_tool_rows)
   from tool_cardinality_rollups group by 1, 2 order by 1, 2`,
  'select budget_id, window_start, spend_before_picousd, spend_after_picousd from budget_alerts order by 1, 2',
];
async function tables(): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (const text of written) all.push(await query(text));
  return all;
}

/** What differs between rollups and day totals, and the rows that they are the sums of. */
const differences = async (): Promise<readonly unknown[]> => [
  ...(await query(`select coalesce(s.scope, d.ownership_scope_key), coalesce(s.day, d.day), s.amount, d.counted_picousd
    from (select ownership_scope_key as scope, (occurred_at at time zone 'UTC')::date as day, sum(cost_picousd) as amount
          from usage_cost_events where pricing_status = 'priced' group by 1, 2) s
    full join usage_daily_totals d on d.ownership_scope_key = s.scope and d.day = s.day
    where s.amount is distinct from d.counted_picousd`)),
  ...(await query(`select * from (
      select rollup_bucket(occurred_at) as b, ownership_scope_key as s, model_key as m, pricing_status as p, count(*) as c,
             coalesce(sum(cost_picousd) filter (where pricing_status = 'priced'), 0) as a
      from usage_cost_events group by 1, 2, 3, 4) r
    full join usage_rollups u on u.bucket_start = b and u.ownership_scope_key = s and u.model_key = m
      and u.pricing_status = p
    where (c, a) is distinct from (u.request_count, u.counted_picousd)`)),
];

describe('a settlement for which the database was unavailable', () => {
  beforeAll(async () => {
    await clock.standAt(at);
  });
  afterEach(async () => {
    expect(await differences()).toEqual([]);
  });

  it('is settled once from the journal, with its exact cost, and a second replay changes nothing', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query, { amount: 10n, hard: false });
    const [team, account] = await aTeam(query);
    const records = [
      aRecord(user, 7n * unit + 3n),
      aRecord(user, unpriced),
      aRecord(user, { pricingStatus: 'usage_missing' }),
      aRecord(team, 5n),
      aRecord(account, 6n),
    ].map((record) => deferrable(record));
    const tagged = {
      ...records[0]!,
      logged: {
        ...records[0]!.logged,
        log: {
          ...records[0]!.logged.log,
          firstTokenMs: 12,
          tags: {
            service: 's',
            component: undefined,
            env: 'e',
            bespoke: [{ key: 'k', value: 'vü' }],
          },
          attempts: [
            {
              attemptNumber: 1,
              providerKey: 'up',
              upstreamModel: 'simulated-fast',
              status: 'success' as const,
              statusCode: 200,
              errorCode: undefined,
              errorDetail: undefined,
              stream: false,
              startedAt: at.getTime() - 20,
              completedAt: at.getTime(),
            },
          ],
        },
      },
    };
    const all: readonly SettlementRecord[] = [tagged, ...records.slice(1)];
    expect(new Set(await settleTogether(ledger, all))).toEqual(new Set(['journaled']));
    await close();
    const [file = ''] = await readdir(folder);
    const copy = await readFile(path.join(folder, file));
    expect(await settleFolder(folder)).toEqual([{ settled: 5, refused: 0, damaged: 0, kept: undefined }]);
    for (const record of all) expect(await rowsOf(query, record)).toEqual([1, 1]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 7n * unit + 3n, days: 7n * unit + 3n });
    expect(await spendOf(query, scopeOf(team))).toEqual({ rows: 11n, days: 11n });
    // The second line has no first token time, like the lines of releases before it was measured.
    expect(copy.toString().match(/"first_token_ms"/g)).toHaveLength(1);
    expect(
      await query(
        `select occurred_at, first_token_ms from request_logs where request_log_id = any ($1::uuid[])
         order by first_token_ms`,
        [[tagged.charge.requestLogId, records[1]?.charge.requestLogId]],
      ),
    ).toEqual([
      { occurred_at: at, first_token_ms: 12 },
      { occurred_at: at, first_token_ms: null },
    ]);
    const before = await tables();
    await writeFile(path.join(folder, file), copy);
    expect(await settleFolder(folder)).toEqual([{ settled: 5, refused: 0, damaged: 0, kept: undefined }]);
    expect(await tables()).toEqual(before);
  });

  it('that was committed before its response was lost is not written again', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const record = deferrable(aRecord(user, unit));
    expect(wordOf(await ledgers[0]!.settle(record))).toBe('recorded');
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    const before = await tables();
    await settleFolder(folder);
    expect(await tables()).toEqual(before);
  });

  it('is a duplicate if its request id was settled in the meantime', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const record = deferrable(aRecord(user, unit, { requestId: 'chosen' }));
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    expect(wordOf(await ledgers[1]!.settle(aRecord(user, 2n * unit, { requestId: 'chosen' })))).toBe(
      'recorded',
    );
    await settleFolder(folder);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 2n * unit, days: 2n * unit });
    expect(
      await query('select metadata_json -> $2 as accounting from request_logs where request_log_id = $1', [
        record.charge.requestLogId,
        'accounting',
      ]),
    ).toEqual([{ accounting: { duplicate: true } }]);
  });

  it('counts on the day of the database time that is stored with it', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query, { amount: 1n, hard: false, cadence: 'daily' });
    const record = deferrable(aRecord(user, 3n), yesterday);
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    await settleFolder(folder);
    expect(
      await query(
        `select day::text, counted_picousd from usage_daily_totals where ownership_scope_key = $1`,
        [scopeOf(user)],
      ),
    ).toEqual([{ day: '2028-05-09', counted_picousd: '3' }]);
    expect(
      await query('select occurred_at from usage_cost_events where request_log_id = $1', [
        record.charge.requestLogId,
      ]),
    ).toEqual([{ occurred_at: yesterday }]);
  });

  it('counts its tokens in the minute in which it is settled, and does not change the other counts of that minute', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const limit = await aLimit(query, { requests: 5, tokens: 100 });
    const ask = () => limitedAsk(user, [limit]);
    const first = ask();
    expect(await askTogether(ledgers[0]!, [first])).toEqual(['admitted']);
    expect(wordOf(await ledger.settle(deferrable(endOf(first, 7))))).toBe('journaled');
    await close();
    await clock.standAt(new Date(at.getTime() + 600_000));
    expect(await askTogether(ledgers[0]!, [ask(), ask()])).toEqual(['admitted', 'admitted']);
    await settleFolder(folder);
    expect(await takenOf(query, limit)).toEqual({ requests: 2, tokens: 7, held: 2 });
    await clock.standAt(at);
  });

  it('is checked against the budget in force when it is settled: a blocked one is logged as such, others are not', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const [user, soft] = [await aUser(query, { amount: 1n, hard: false }), await aUser(query)];
    const records = [
      deferrable(aRecord(user, 4n * unit)),
      deferrable(aRecord(user, 7n * unit)),
      deferrable(aRecord(user, 6n * unit)),
      deferrable(aRecord(soft, 100n * unit)),
    ];
    for (const record of records) expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    await setUserBudget(query, userIdOf(user), { amount: 10n });
    await settleFolder(folder);
    expect(await Promise.all(records.map((record) => rowsOf(query, record)))).toEqual([
      [1, 1],
      [0, 1],
      [1, 1],
      [1, 1],
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 10n * unit, days: 10n * unit });
    expect(
      await query(
        'select status_code, error_code, metadata_json from request_logs where request_log_id = $1',
        [records[1]!.charge.requestLogId],
      ),
    ).toMatchObject([
      {
        status_code: 429,
        error_code: 'budget_exceeded',
        metadata_json: { accounting: { blocked_cost_usd: '0.5' } },
      },
    ]);
  });

  it('closes the window of the budget that blocks it, and its alerts are mailed', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const [blocked, alerted] = [await aUser(query), await aUser(query, { amount: 10n, hard: false })];
    for (const user of [blocked, alerted])
      expect(wordOf(await ledger.settle(deferrable(aRecord(user, 9n * unit))))).toBe('journaled');
    await close();
    await setUserBudget(query, userIdOf(blocked), { amount: 1n });
    await settleFolder(folder, ledgers[0], { closeOnBlock: () => true, mailReady: () => true });
    const [window] = await query(
      'select window_start from budget_window_closures where ownership_scope_key = $1',
      [scopeOf(blocked)],
    );
    expect(window).toEqual({ window_start: new Date('2028-05-01T00:00:00Z') });
    const mails: string[] = [];
    const mailer: Mailer = {
      send: async (to, { subject }) => {
        mails.push(`${to}: ${subject}`);
        return E.right(undefined);
      },
    };
    await dispatchAlerts({
      queue: alertQueue(ledgers[0]!.pool, testDistribution()),
      mailer,
      whereToLook: () => undefined,
      telemetry: { sent: () => undefined, failed: () => undefined },
    })(25, always);
    const [user] = await query<{ email: string }>('select email from users where user_id = $1', [
      userIdOf(alerted),
    ]);
    expect(mails).toEqual([
      expect.stringMatching(new RegExp(`^${user?.email}: Budget alert: .* has 0\\.0001 of `)),
    ]);
    expect(
      await query('select delivery_status from budget_alert_deliveries where ownership_scope_key = $1', [
        scopeOf(alerted),
      ]),
    ).toEqual([{ delivery_status: 'sent' }]);
  });

  it('that a first replay blocked is checked again by the next one, and its log row has the new outcome', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const [kept, twin] = ['a', 'b'].map((requestId) => deferrable(aRecord(user, 4n * unit, { requestId })));
    expect(await settleTogether(ledger, [kept!, twin!])).toEqual(['journaled', 'journaled']);
    await close();
    const [file = ''] = await readdir(folder);
    const copy = await readFile(path.join(folder, file));
    await setUserBudget(query, userIdOf(user), { amount: 1n });
    await settleFolder(folder);
    expect(await Promise.all([kept!, twin!].map((record) => rowsOf(query, record)))).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await setUserBudget(query, userIdOf(user), { amount: 10n });
    expect(wordOf(await ledgers[1]!.settle(aRecord(user, 5n * unit, { requestId: 'b' })))).toBe('recorded');
    await writeFile(path.join(folder, file), copy);
    await settleFolder(folder);
    expect(await Promise.all([kept!, twin!].map((record) => rowsOf(query, record)))).toEqual([
      [1, 1],
      [0, 1],
    ]);
    expect(
      await query(
        `select status_code, error_code, metadata_json -> 'accounting' as accounting from request_logs
         where request_log_id = any ($1) order by request_id`,
        [[kept!, twin!].map(({ charge }) => charge.requestLogId)],
      ),
    ).toEqual([
      { status_code: 200, error_code: null, accounting: null },
      { status_code: 200, error_code: null, accounting: { duplicate: true } },
    ]);
  });

  it('is kept in a .refused file if the database refuses it at replay, and does not stop the others', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query);
    const bad = deferrable(
      aRecord(user, {
        ...pricedAt(1n),
        usage: { promptTokens: -1, completionTokens: 0, totalTokens: 0 },
      } as never),
    );
    const records = [aRecord(user, 1n), aRecord(user, 2n)].map((record) => deferrable(record));
    for (const record of [records[0]!, bad, records[1]!])
      expect(wordOf(await ledger.settle(record))).toBe('journaled');
    await close();
    await writeFile(
      path.join(folder, 'zzz.000001.journal'),
      bytesOf(['no JSON', '{}', '{"at": "x", "record": {}}']),
    );
    const recovered = await settleFolder(folder);
    expect(recovered).toMatchObject([
      { settled: 2, refused: 1, damaged: 0 },
      { settled: 0, refused: 3, damaged: 0 },
    ]);
    for (const record of records) expect(await rowsOf(query, record)).toEqual([1, 1]);
    expect(await rowsOf(query, bad)).toEqual([0, 0]);
    expect((await readdir(folder)).every((name) => name.endsWith('.refused'))).toBe(true);
    expect(await readFile(recovered[0]?.kept ?? '', 'utf8')).toContain(bad.charge.requestLogId);
  });

  it('is not journaled if the database itself refuses it: the result is `internal_error`', async () => {
    const kept: string[] = [];
    const { pool, ...own } = await openLedger(database.url(), {
      journal: async (text) => kept.push(text) > 0,
    });
    const user = await aUser(query);
    expect(wordOf(await own.settle(deferrable(aRecord(user, -1n))))).toBe('internal_error');
    expect(kept).toEqual([]);
    await pool.end();
  });

  it('of a process that has ended is settled once if two processes recover it at the same time', async () => {
    const folder = await makeTestFolder('journal');
    const records: SettlementRecord[] = [];
    const users: Caller[] = [];
    for (let index = 0; index < 6; index += 1) {
      const { ledger, close } = await cutOff(folder);
      const user = await aUser(query);
      users.push(user);
      const own = Array.from({ length: 10 }, () => deferrable(aRecord(user, unit)));
      expect(new Set(await settleTogether(ledger, own))).toEqual(new Set(['journaled']));
      records.push(...own);
      await close();
    }
    const counts = await Promise.all([settleFolder(folder, ledgers[0]), settleFolder(folder, ledgers[1])]);
    expect(counts.flat().reduce((sum, { settled }) => sum + settled, 0)).toBe(60);
    for (const record of records) expect(await rowsOf(query, record)).toEqual([1, 1]);
    for (const user of users)
      expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 10n * unit, days: 10n * unit });
  });

  it('is `store_unavailable` if it must not be deferred, or if the journal refuses it', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, close } = await cutOff(folder);
    const user = await aUser(query, { amount: 10n });
    expect(wordOf(await ledger.settle(aRecord(user, unit)))).toBe('store_unavailable');
    expect(await readdir(folder)).toEqual([]);
    await close();
    const proxy = await tcpProxy();
    const refusing = await openLedger(proxy.to(database.url()), { journal: async () => false });
    await proxy.refuse();
    expect(wordOf(await refusing.settle(deferrable(aRecord(user, unit))))).toBe('store_unavailable');
    await refusing.pool.end();
  });

  it('waits while the database is unavailable, and is settled when it is back', async () => {
    const folder = await makeTestFolder('journal');
    const { ledger, proxy, close } = await cutOff(folder);
    const user = await aUser(query);
    const record = deferrable(aRecord(user, unit));
    expect(wordOf(await ledger.settle(record))).toBe('journaled');
    expect(await settleFolder(folder, ledger)).toEqual([]);
    expect(await rowsOf(query, record)).toEqual([0, 0]);
    await proxy.open();
    expect(await settleFolder(folder, ledger)).toMatchObject([{ settled: 1 }]);
    expect(await rowsOf(query, record)).toEqual([1, 1]);
    await close();
  });
});
