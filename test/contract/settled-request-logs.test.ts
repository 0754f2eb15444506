import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { RequestLogFilter } from '../../application/ports/request-logs.ts';
import type { TokenOverheadRecord } from '../../application/ports/mcp-invocations.ts';
import { tokenOverheads } from '../../infrastructure/postgres/mcp-overheads.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aLog,
  aRecord,
  aTeam,
  aUser,
  scopeOf,
  settleTogether,
  setUserBudget,
  userIdOf,
  withClock,
  withLedgers,
} from './ledger-bench.ts';
import { withRequestLogs, idsOf } from './request-log-rows.ts';
import { settleAlone } from './settle-alone.ts';

describe('a settled request log', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url);
  const clock = withClock(query);
  const { logs, pool } = withRequestLogs(database.url);

  it('is found by its tags, model and status as soon as it is written', async () => {
    const [, worker] = await aTeam(query);
    const bespoke = [
      { key: 'b', value: '2' },
      { key: 'a', value: '1' },
    ];
    const records = ['fast', 'fast', 'large'].map((modelKey, n) => {
      const logged = aLog(worker, {
        modelKey,
        statusCode: n === 0 ? 502 : 200,
        tags: { service: 's', component: 'c', env: 'e', bespoke },
      });
      return { charge: undefined, logged, release: undefined, deferrableTo: undefined };
    });
    await settleTogether(ledgers[0]!, records);
    const found = async (filter: RequestLogFilter) =>
      (await logs.page(filter, { page: 1, pageSize: 10 })).items;
    const [failed] = await found({ tag: { key: 'a', value: '1' }, modelKey: 'fast', statusCode: 502 });
    expect(failed).toMatchObject({
      requestLogId: records[0]!.logged.log.requestLogId,
      bespokeTags: bespoke.toReversed(),
      service: 's',
      component: 'c',
      env: 'e',
    });
    expect(await found({ tag: { key: 'b', value: '2' }, modelKey: 'fast' })).toHaveLength(2);
    expect(await found({ tag: { key: 'b', value: '2' }, statusCode: 200 })).toHaveLength(2);
    expect(await found({ tag: { key: 'b', value: '1' } })).toHaveLength(0);
  });

  it('is found by its tags and its new status after it was settled again', async () => {
    const user = await aUser(query, { amount: 0n });
    const tag = { key: 'b', value: '3' };
    const judged = (): ReturnType<typeof aRecord> => {
      const record = aRecord(user, 1n);
      const tags = { service: 's', component: 'c', env: 'e', bespoke: [tag] };
      return { ...record, logged: { ...record.logged, log: { ...record.logged.log, tags } } };
    };
    const records = [judged(), judged()];
    expect(await settleTogether(ledgers[0]!, records)).toEqual(['blocked', 'blocked']);
    const found = async (statusCode: number) =>
      idsOf((await logs.page({ tag, statusCode }, { page: 1, pageSize: 10 })).items);
    expect(await found(429)).toHaveLength(2);
    await setUserBudget(query, userIdOf(user), undefined);
    await settleAlone(database.url(), records[0]!, { again: true });
    expect(await found(200)).toEqual([records[0]!.charge.requestLogId]);
    expect(await found(429)).toEqual([records[1]!.charge.requestLogId]);
    expect(
      await query(
        `select error_code, metadata_json ? 'accounting' as is_told from request_logs
         where ownership_scope_key = $1 order by status_code`,
        [scopeOf(user)],
      ),
    ).toEqual([
      { error_code: null, is_told: false },
      { error_code: 'budget_exceeded', is_told: true },
    ]);
  });

  it('is stored and found with values of the greatest length in every column', async () => {
    const user = await aUser(query);
    const long = (chars: number) =>
      Array.from({ length: chars }, () =>
        String.fromCharCode(0x4e00 + Math.floor(20_000 * Math.random())),
      ).join('');
    const key = 'k'.repeat(32);
    const modelKey = long(256);
    const record = aRecord(user, 1n, { requestId: long(16_384), modelKey, providerKey: long(128) });
    const { log } = record.logged;
    const logged = {
      ...record.logged,
      log: {
        ...log,
        modelKey,
        providerKey: record.charge.providerKey,
        tags: { service: long(64), component: long(64), env: long(64), bespoke: [{ key, value: long(64) }] },
        harness: { key: long(64), label: long(64) },
      },
    };
    expect(await settleTogether(ledgers[0]!, [{ ...record, logged }])).toEqual(['recorded']);
    const filter = {
      requestId: log.requestId,
      tag: logged.log.tags.bespoke[0]!,
      modelKey: logged.log.modelKey,
    };
    expect(idsOf((await logs.page(filter, { page: 1, pageSize: 1 })).items)).toEqual([log.requestLogId]);
  });

  it('is returned completely, with current names, and payloads as stored', async () => {
    await clock.standAt('2028-03-01T12:00:00Z');
    const user = await aUser(query);
    const record = aRecord(user, 1n);
    const { requestLogId, requestId } = record.charge;
    await settleTogether(ledgers[0]!, [record]);
    const request = '{"9": 9007199254740993, "1": 0.10, "text": "\\u00e9\\/ \\"\\/0\\""}';
    await query(`insert into request_log_payloads values ($1, $2, $3, null)`, [
      requestLogId,
      scopeOf(user),
      request,
    ]);
    await query(`update users set name = 'Renamed' where user_id = $1`, [
      user.keyOwner.kind === 'user' ? user.keyOwner.userId : '',
    ]);
    const found = await logs.find(requestLogId);
    expect(found).toMatchObject({
      log: {
        requestLogId,
        requestId,
        user: { name: 'Renamed' },
        // No such key exists.
        apiKey: { id: user.apiKeyId, name: undefined },
        team: undefined,
        statusCode: 200,
        referencedMcpServerCount: undefined,
        exposedToolCount: 0,
        occurredAt: new Date('2028-03-01T12:00:00Z'),
      },
      payload: { request, response: undefined },
      attempts: [],
      mcpTokenOverhead: undefined,
    });
    expect(await logs.find(randomUUID())).toBeUndefined();
  });

  it('has the token overhead of its own log id, else that of its request id', async () => {
    const records = [
      aRecord(await aUser(query), 1n, { requestId: 'shared' }),
      aRecord(await aUser(query), 1n, { requestId: 'shared' }),
    ];
    await settleTogether(ledgers[0]!, records);
    const [own, other] = records.map(({ charge }) => charge.requestLogId) as [string, string];
    const overhead = {
      requestId: 'shared',
      requestLogId: undefined,
      serverCount: 1,
      toolCount: 9,
      toolDefinitionBytes: 4096,
      toolDefinitionTokens: 9_007_199_254_740_991,
      toolResultTokens: undefined,
    };
    const put = async (record: TokenOverheadRecord): Promise<void> => {
      const overheads = tokenOverheads(pool(), (error) => {
        throw error;
      });
      overheads.put(record);
      await overheads.close(5000);
    };
    await put({ ...overhead, toolCount: 1 });
    await put(overhead);
    await put({ ...overhead, requestLogId: own, toolCount: 0 });
    const overheadOf = async (id: string) => (await logs.find(id))?.mcpTokenOverhead;
    expect(await overheadOf(own)).toMatchObject({ requestLogId: own, toolCount: 0 });
    expect(await overheadOf(other)).toEqual({ ...overhead, occurredAt: new Date('2028-03-01T12:00:00Z') });
  });
});
