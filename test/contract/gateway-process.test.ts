import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { sql } from 'slonik';
import { oneDatabase } from '../../infrastructure/postgres/ledger-place.ts';
import { gatewayProcess } from '../../infrastructure/postgres/gateway-process.ts';
import { ledgerStore, replayJournaled } from '../../infrastructure/postgres/ledger-store.ts';
import { openPool, type ServicePool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { eventually } from '../e2e/traces.ts';
import { aRecord, aUser, admitted, anAsk, holder, pricedAt, unit, untilWaiting } from './ledger-bench.ts';
import { aLimit, limitedAsk, takenOf } from './limits-bench.ts';
import { tcpProxy } from './tcp-proxy.ts';

const database = withDatabase();
const query = queries(database.url);
const told: unknown[] = [];

/** A process with its own ledger. */
function aProcess(
  pool: ServicePool,
  journal: (text: string) => Promise<boolean> = async () => false,
  runningMs?: number,
) {
  const process = gatewayProcess(pool, {
    onWriting: (trouble) => void told.push(trouble),
    ...(runningMs === undefined ? {} : { runningMs }),
  });
  const ledger = ledgerStore(pool, {
    closeOnBlock: () => false,
    mailReady: () => false,
    journal,
    claimSeconds: () => 3600,
    process,
    onFault: () => undefined,
  });
  return { process, ledger };
}

let pool: ServicePool;
beforeAll(async () => {
  pool = await openPool(database.url(), 4);
});
afterAll(() => pool.end());
beforeEach(async () => {
  told.length = 0;
  await query('truncate gateway_processes, request_claims');
});

describe('a claim on a request id', () => {
  it('of a settlement or admission that failed is released by the next heartbeat', async () => {
    const caller = await aUser(query);
    const proxy = await tcpProxy();
    const far = await openPool(proxy.to(database.url()), 4);
    const { process, ledger } = aProcess(far);
    const requestId = randomUUID();
    const ask = anAsk(caller, { requestId, claim: true });
    expect((await admitted(ledger, ask)).claimed).toBe(true);
    await proxy.refuse();
    const record = aRecord(caller, pricedAt(1n));
    const settled = await ledger.settle({ ...record, release: ask.requestLogId });
    expect(settled).toMatchObject({ left: { code: 'store_unavailable' } });
    const lost = anAsk(caller, { requestId: randomUUID(), claim: true });
    expect(await ledger.admit(lost)).toMatchObject({ left: { code: 'store_unavailable' } });
    await expect(process.beat()).rejects.toThrow();
    // As if the answer to the admission had been lost.
    await query(
      `insert into request_claims values (request_digest($1), 'user:x', $2, now() + interval '1 hour', $3)`,
      [lost.requestId, lost.requestLogId, process.id],
    );
    await proxy.open();
    const other = aProcess(pool);
    expect((await admitted(other.ledger, anAsk(caller, { requestId, claim: true }))).claimed).toBe(false);
    await process.beat();
    expect(await query('select from request_claims')).toEqual([]);
    expect((await admitted(other.ledger, anAsk(caller, { requestId, claim: true }))).claimed).toBe(true);
    await far.end();
    await proxy.close();
  });

  it('of a record in the journal is released when the record is settled', async () => {
    const caller = await aUser(query);
    const kept: string[] = [];
    const proxy = await tcpProxy();
    const far = await openPool(proxy.to(database.url()), 4);
    const journal = async (text: string): Promise<boolean> => kept.push(text) > 0;
    const { process, ledger } = aProcess(far, journal);
    const record = aRecord(caller, pricedAt(1n));
    const { requestLogId, requestId } = record.charge;
    const claim = anAsk(caller, { requestLogId, requestId, claim: true });
    const { databaseTime } = await admitted(ledger, claim);
    await proxy.refuse();
    const settled = await ledger.settle({ ...record, release: requestLogId, deferrableTo: databaseTime });
    expect(settled).toEqual(E.right({ kind: 'journaled' }));
    await proxy.open();
    await process.beat();
    expect(await query('select from request_claims')).toHaveLength(1);
    const options = { closeOnBlock: () => false, mailReady: () => false, onFault: () => undefined };
    expect(await replayJournaled(oneDatabase(pool), options)(kept[0] ?? '')).toBe('settled');
    expect(await query('select from request_claims')).toEqual([]);
    expect(await admitted(ledger, { ...claim, requestLogId: randomUUID() })).toMatchObject({
      alreadyAccounted: true,
    });
    await far.end();
    await proxy.close();
  });
});

describe('the hold and claim of a request without a row', () => {
  it('end when its journaled record is settled', async () => {
    const caller = await aUser(query);
    const limit = await aLimit(query, { inFlight: 9 });
    const kept: string[] = [];
    const proxy = await tcpProxy();
    const far = await openPool(proxy.to(database.url()), 4);
    const { ledger } = aProcess(far, async (text) => kept.push(text) > 0);
    const ask = limitedAsk(caller, [limit], { callerChoseRequestId: true, claim: true });
    const { databaseTime } = await admitted(ledger, ask);
    await proxy.refuse();
    const nothing = { charge: undefined, logged: undefined };
    const settled = await ledger.settle({
      ...nothing,
      release: ask.requestLogId,
      deferrableTo: databaseTime,
    });
    expect(settled).toEqual(E.right({ kind: 'journaled' }));
    const options = { closeOnBlock: () => false, mailReady: () => false, onFault: () => undefined };
    const ended: unknown[] = [];
    const endElsewhere = async (record: object): Promise<void> => void ended.push(record);
    const replay = replayJournaled(oneDatabase(pool), options, endElsewhere);
    expect(await replay(kept[0] ?? '')).toBe('settled');
    expect(ended).toEqual([{ ord: 1, request_log_id: ask.requestLogId }]);
    expect([(await takenOf(query, limit)).held, await query('select from request_claims')]).toEqual([0, []]);
    await far.end();
    await proxy.close();
  });
});

describe('the release of holds and claims', () => {
  it('includes those of requests that were admitted by the database and then refused', async () => {
    const { process, ledger } = aProcess(pool);
    const caller = await aUser(query, { amount: unit });
    const limit = await aLimit(query, { inFlight: 9 });
    process.failed(fullDisk);
    const requestId = randomUUID();
    const both = limitedAsk(caller, [limit], { requestId, callerChoseRequestId: true, claim: true });
    for (const ask of [limitedAsk(caller, [limit]), both, anAsk(caller, { claim: true })])
      expect(await ledger.admit(ask)).toMatchObject({ left: { code: 'store_unavailable' } });
    const left = async () => [(await takenOf(query, limit)).held, await query('select from request_claims')];
    expect(await left()).toEqual([2, [{}, {}]]);
    await process.beat();
    expect(await left()).toEqual([0, []]);
  });

  it('is repeated once the server cannot be continuing the admission, whose connection was lost', async () => {
    const proxy = await tcpProxy();
    const far = await openPool(proxy.to(database.url()), 4);
    const { process, ledger } = aProcess(far, undefined, 500);
    await process.beat();
    const caller = await aUser(query);
    const limit = await aLimit(query, { inFlight: 1 });
    const held = await holder(database.url());
    await held.query('lock table rate_limit_windows in access exclusive mode');
    const asked = ledger.admit(limitedAsk(caller, [limit], { callerChoseRequestId: true, claim: true }));
    await untilWaiting(query, 1, 'relation');
    proxy.cut();
    expect(await asked).toMatchObject({ left: { code: 'store_unavailable' } });
    await process.beat();
    await held.rollBack();
    const left = async () => [
      (await takenOf(query, limit)).held,
      (await query('select from request_claims')).length,
    ];
    await eventually(async () => (await left()).join() === '1,1' || undefined);
    await eventually(async () => {
      await process.beat();
      return (await left()).join() === '0,0' || undefined;
    });
    await far.end();
    await proxy.close();
  });

  it('that is requested during a heartbeat is done by the next one', async () => {
    const { process } = aProcess(pool);
    const [early, late] = [randomUUID(), randomUUID()];
    await claimed([early, late]);
    const held = await holder(database.url());
    await held.query('lock table write_probes in access exclusive mode');
    process.release(early);
    const beating = process.beat();
    await untilWaiting(query, 1, 'relation');
    process.release(late);
    await held.commit();
    await beating;
    expect(await query('select request_log_id as id from request_claims')).toEqual([{ id: late }]);
    await process.beat();
    expect(await query('select from request_claims')).toEqual([]);
  });

  it('is remembered for 10,000 requests; claims of further ones are left to expire', async () => {
    const { process, ledger } = aProcess(pool);
    const ids = Array.from({ length: 10_000 }, () => randomUUID());
    await claimed(ids);
    const [caller, requestId] = [await aUser(query), randomUUID()];
    const claim = () => anAsk(caller, { requestId, claim: true });
    const last = claim();
    expect((await admitted(ledger, last)).claimed).toBe(true);
    for (const id of [...ids, last.requestLogId]) process.release(id);
    for (const _ of [1, 2]) await process.beat();
    expect(await query('select request_log_id as id from request_claims')).toEqual([
      { id: last.requestLogId },
    ]);
    expect((await admitted(ledger, claim())).claimed).toBe(false);
    await query('update request_claims set expires_at = gateway_now()');
    expect((await admitted(ledger, claim())).claimed).toBe(true);
  });
});

/** Claims that nothing else ends. */
const claimed = (requestLogIds: readonly string[]) =>
  query(
    `insert into request_claims select request_digest(id::text), 'user:x', id, now() + interval '1 hour', null
     from unnest($1::uuid[]) id`,
    [requestLogIds],
  );

const fullDisk = Object.assign(new Error('No space left on device'), { code: '53100' });

/** As with a full disk: inserts into these tables and into the probe fail. */
const fill = `
  create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
  create trigger full_disk before insert on usage_cost_events for each row execute function full_disk();
  create trigger full_disk before insert on write_probes for each row execute function full_disk()`;
const empty = 'drop function if exists full_disk() cascade';

describe('a database that accepts no rows', () => {
  it('is detected by a heartbeat and by a settlement; hard-limited owners are refused until a probe succeeds', async () => {
    const { process, ledger } = aProcess(pool);
    const [free, hard] = [await aUser(query), await aUser(query, { amount: unit, cadence: 'daily' })];
    const admissions = async () => [
      E.isRight(await ledger.admit(anAsk(free))),
      E.isRight(await ledger.admit(anAsk(hard))),
    ];
    expect(await process.check()).toBeUndefined();
    expect(await admissions()).toEqual([true, true]);
    await query(fill);
    expect(await ledger.settle(aRecord(hard, pricedAt(1n)))).toMatchObject({
      left: { code: 'store_unavailable' },
    });
    expect([process.unwritable(), told]).toEqual(['disk_full', ['disk_full']]);
    expect(await admissions()).toEqual([true, false]);
    await process.beat();
    expect(await process.check()).toBe('disk_full');
    expect(await aProcess(pool).process.check()).toBe('disk_full');
    await query(empty);
    expect(await process.check()).toBeUndefined();
    expect(told).toEqual(['disk_full', 'disk_full', undefined]);
    expect(await admissions()).toEqual([true, true]);
  });

  it('stays unwritable if a statement fails while a probe that began earlier succeeds', async () => {
    const { process } = aProcess(pool);
    const held = await holder(database.url());
    await held.query('lock table write_probes in access exclusive mode');
    const beating = process.beat();
    await untilWaiting(query, 1, 'relation');
    process.failed(fullDisk);
    await held.commit();
    await beating;
    expect(process.unwritable()).toBe('disk_full');
    await process.beat();
    expect(process.unwritable()).toBeUndefined();
  });

  it('stays unwritable until it has room for a batch, even if there is room for a page', async () => {
    await query(`
      create function nearly_full() returns trigger language plpgsql as $$ begin
        if (select count(*) from added) > 100 then
          raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
        end if;
        return null;
      end $$;
      create trigger nearly_full after insert on write_probes referencing new table as added
        for each statement execute function nearly_full()`);
    const { process } = aProcess(pool);
    expect(await process.check()).toBeUndefined();
    process.failed(fullDisk);
    await query(`update gateway_processes set seen_at = seen_at - interval '1 hour'`);
    expect(await process.check()).toBe('disk_full');
    // To other processes it is present, because there is room for a page.
    expect(
      await query(
        `select seen_at > clock_timestamp() - interval '5 seconds' as there from gateway_processes`,
      ),
    ).toEqual([{ there: true }]);
    await query('drop function nearly_full() cascade');
    expect(await process.check()).toBeUndefined();
  });

  it('that is read-only is detected by the admission itself, and by a heartbeat', async () => {
    const one = await openPool(database.url(), 1);
    const { process, ledger } = aProcess(one);
    const [free, hard] = [await aUser(query), await aUser(query, { amount: unit, cadence: 'daily' })];
    await one.query(sql.unsafe`set default_transaction_read_only = on`);
    expect(E.isRight(await ledger.admit(anAsk(free)))).toBe(true);
    expect(await ledger.admit(anAsk(hard))).toMatchObject({ left: { code: 'store_unavailable' } });
    expect(await process.check()).toBe('read_only');
    await one.query(sql.unsafe`set default_transaction_read_only = off`);
    expect(E.isRight(await ledger.admit(anAsk(hard)))).toBe(false);
    expect(await process.check()).toBeUndefined();
    expect(E.isRight(await ledger.admit(anAsk(hard)))).toBe(true);
    await one.query(sql.unsafe`set default_transaction_read_only = on`);
    expect(await ledger.admit(anAsk(free, { claim: true }))).toMatchObject({
      left: { code: 'store_unavailable' },
    });
    expect(process.unwritable()).toBe('read_only');
    await one.end();
  });

  it('is probed without remaining rows, in a table that stays below 2 MiB after 300 probes', async () => {
    const { process } = aProcess(pool);
    for (let turn = 0; turn < 300; turn += 1) await process.beat();
    expect(await query('select from write_probes')).toEqual([]);
    const [{ bytes } = { bytes: '' }] = await query<{ bytes: string }>(
      `select pg_relation_size('write_probes')::text as bytes`,
    );
    expect(Number(bytes)).toBeGreaterThan(8192);
    expect(Number(bytes)).toBeLessThan(2 * 1024 * 1024);
  });

  it('is probed while a dump reads the table of the probes, which is emptied behind it', async () => {
    const { process } = aProcess(pool);
    await query('select probe_writing(129)');
    const dump = await holder(database.url());
    await dump.query('lock table write_probes in access share mode');
    await process.beat();
    expect(process.unwritable()).toBeUndefined();
    await dump.rollBack();
    await process.beat();
    expect(await query(`select pg_relation_size('write_probes')::integer as bytes`)).toEqual([
      { bytes: 8192 },
    ]);
  });
});
