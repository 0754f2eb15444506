import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  aCharge,
  admitted,
  aLog,
  anAsk,
  aRecord,
  aTeam,
  aUser,
  scopeOf,
  unit,
  userIdOf,
} from './ledger-bench.ts';
import { ledgerScene } from './ledger-scene.ts';
import { openSettlement } from './settle-alone.ts';

const { query, ledger, settle, ledgerRow, databaseUrl } = ledgerScene();

const logRow = async (requestLogId: string) =>
  (await query('select * from request_logs where request_log_id = $1', [requestLogId]))[0];

describe('log rows', () => {
  it.each([1, 2])(
    'are written in the transaction of the ledger row, and have its time: %i at once',
    async (n) => {
      const user = await aUser(query);
      const record = aRecord(user, 5n);
      await settle(record, ...Array.from({ length: n - 1 }, () => aRecord(user, 5n)));
      const [row, log] = [
        await ledgerRow(record.charge.requestLogId),
        await logRow(record.charge.requestLogId),
      ];
      expect(log).toMatchObject({
        request_id: record.charge.requestId,
        api_key_id: user.apiKeyId,
        user_id: userIdOf(user),
        model_key: 'fast',
        status_code: 200,
        error_code: null,
        latency_ms: 7,
        prompt_tokens: '1',
        has_payload: false,
        occurred_at: row?.['occurred_at'],
      });
      const transactionIn = (table: string) =>
        query(`select xmin::text from ${table} where request_log_id = $1 and ownership_scope_key = $2`, [
          record.charge.requestLogId,
          scopeOf(user),
        ]);
      expect(await transactionIn('request_logs')).toEqual(await transactionIn('usage_cost_events'));
    },
  );

  it('record that a request was blocked, with the cost, or was a duplicate', async () => {
    const user = await aUser(query, { amount: 1n });
    const [first, blocked] = [aRecord(user, unit), aRecord(user, unit)];
    const duplicate = aRecord(user, unit, { requestId: first.charge.requestId });
    expect(await settle(first, blocked, duplicate)).toEqual(['recorded', 'blocked', 'duplicate']);
    expect(await logRow(first.charge.requestLogId)).toMatchObject({
      status_code: 200,
      metadata_json: { operation: 'chat_completions' },
    });
    expect(await logRow(blocked.charge.requestLogId)).toMatchObject({
      status_code: 429,
      error_code: 'budget_exceeded',
      metadata_json: { operation: 'chat_completions', accounting: { blocked_cost_usd: '0.5' } },
    });
    expect(await logRow(duplicate.charge.requestLogId)).toMatchObject({
      status_code: 200,
      error_code: null,
      metadata_json: { operation: 'chat_completions', accounting: { duplicate: true } },
    });
    expect(await ledgerRow(blocked.charge.requestLogId)).toBeUndefined();
  });

  it.each([1, 2])(
    'record `client_closed` for a client disconnect, also if the cost is blocked: %i at once',
    async (n) => {
      const user = await aUser(query, { amount: 1n });
      const left = Array.from({ length: n }, () => {
        const { logged, ...record } = aRecord(user, 2n * unit);
        return {
          ...record,
          logged: { ...logged, log: { ...logged.log, statusCode: 499, errorCode: 'client_closed' as const } },
        };
      });
      expect(await settle(...left)).toEqual(left.map(() => 'blocked'));
      for (const { charge } of left)
        expect(await logRow(charge.requestLogId)).toMatchObject({
          status_code: 499,
          error_code: 'client_closed',
          metadata_json: { accounting: { blocked_cost_usd: '0.5' } },
        });
    },
  );

  it('keep the usage of compaction, for recorded, blocked and duplicate requests', async () => {
    const user = await aUser(query, { amount: 1n });
    const compaction = { input_tokens: 100, output_tokens: 10 };
    const compacted = (record: ReturnType<typeof aRecord>) => {
      const metadata = { ...record.logged.log.metadata, accounting: { compaction } };
      return { ...record, logged: { ...record.logged, log: { ...record.logged.log, metadata } } };
    };
    const [first, blocked] = [compacted(aRecord(user, unit)), compacted(aRecord(user, unit))];
    const duplicate = compacted(aRecord(user, unit, { requestId: first.charge.requestId }));
    expect(await settle(first, blocked, duplicate)).toEqual(['recorded', 'blocked', 'duplicate']);
    const rows = await Promise.all(
      [first, blocked, duplicate].map(({ charge }) => logRow(charge.requestLogId)),
    );
    expect(rows).toMatchObject([
      { metadata_json: { accounting: { compaction } } },
      { metadata_json: { accounting: { compaction, blocked_cost_usd: '0.5' } } },
      { metadata_json: { accounting: { compaction, duplicate: true } } },
    ]);
  });

  it('contain the time to the first token of a stream, and null if there is none', async () => {
    const user = await aUser(query);
    const [stream, whole] = [aLog(user, { firstTokenMs: 0 }), aLog(user)];
    const rest = { charge: undefined, release: undefined, deferrableTo: undefined };
    expect(await settle({ logged: stream, ...rest }, { logged: whole, ...rest })).toEqual([
      'recorded',
      'recorded',
    ]);
    expect(await logRow(stream.log.requestLogId)).toMatchObject({ latency_ms: 7, first_token_ms: 0 });
    expect(await logRow(whole.log.requestLogId)).toMatchObject({ latency_ms: 7, first_token_ms: null });
  });

  it('of a blocked request remain one row with the blocked cost if it is settled again', async () => {
    const user = await aUser(query, { amount: 0n });
    const record = aRecord(user, 1n);
    expect([await settle(record), await settle(record)]).toEqual([['blocked'], ['blocked']]);
    const logs = await query(
      'select status_code, error_code, metadata_json from request_logs where request_id = $1',
      [record.charge.requestId],
    );
    expect(logs).toEqual([
      {
        status_code: 429,
        error_code: 'budget_exceeded',
        metadata_json: { operation: 'chat_completions', accounting: { blocked_cost_usd: '0.5' } },
      },
    ]);
  });

  it('that exist already stay unchanged, and those beside them are written and counted', async () => {
    const user = await aUser(query);
    const bespoke = [{ key: 'a', value: '1' }];
    const tags = { service: undefined, component: undefined, env: undefined, bespoke };
    const unpaid = (statusCode: number, requestLogId: string) => ({
      charge: undefined,
      logged: aLog(user, { requestLogId, statusCode, tags }),
      release: undefined,
      deferrableTo: undefined,
    });
    const [first, second] = [randomUUID(), randomUUID()];
    expect(await settle(unpaid(502, first))).toEqual(['recorded']);
    expect(await settle(unpaid(503, first), unpaid(504, second))).toEqual(['recorded', 'recorded']);
    const found = await query(
      `select status_code, (select count(*)::integer from request_log_tags t where t.request_log_id = l.request_log_id
          and t.ownership_scope_key = l.ownership_scope_key) as tags
       from request_logs l where user_id = $1 order by 1`,
      [userIdOf(user)],
    );
    expect(found).toEqual([
      { status_code: 502, tags: 1 },
      { status_code: 504, tags: 1 },
    ]);
    expect(
      await query(
        'select sum(request_count)::integer as count from harness_rollups where ownership_scope_key = $1',
        [scopeOf(user)],
      ),
    ).toEqual([{ count: 2 }]);
  });

  it('without a charge wait for no settlement of their owner in progress, one or two at once', async () => {
    const user = await aUser(query);
    const settling = await openSettlement(databaseUrl(), aRecord(user, 1n));
    const uncharged = () => ({
      charge: undefined,
      logged: aLog(user),
      release: undefined,
      deferrableTo: undefined,
    });
    expect(await settle(uncharged())).toEqual(['recorded']);
    expect(await settle(uncharged(), uncharged())).toEqual(['recorded', 'recorded']);
    await settling.commit();
    const counted = await query(
      `select (select sum(request_count) from harness_rollups where ownership_scope_key = $1)::int as requests,
              (select sum(exposed_tool_rows) from tool_cardinality_rollups where ownership_scope_key = $1)::int as rows`,
      [scopeOf(user)],
    );
    expect(counted).toEqual([{ requests: 4, rows: 4 }]);
  });

  it('are written with their tags and attempts, also without a charge', async () => {
    const [team] = await aTeam(query);
    const logged = aLog(team, {
      statusCode: 502,
      errorCode: 'upstream_error',
      usage: undefined,
      tags: {
        service: 'checkout',
        component: 'cart',
        env: 'prod',
        bespoke: [
          { key: 'a', value: '1' },
          { key: 'b', value: 'x/y' },
        ],
      },
      userAgent: 'curl/8',
      attempts: [
        {
          attemptNumber: 1,
          providerKey: 'up',
          upstreamModel: 'simulated-fast',
          status: 'stream_error',
          statusCode: 200,
          errorCode: 'upstream_error',
          errorDetail: 'gone\0',
          stream: true,
          startedAt: 1_800_000_000_000,
          completedAt: 1_800_000_000_250,
        },
      ],
    });
    const record = { charge: undefined, logged, release: undefined, deferrableTo: undefined };
    expect(await settle(record)).toEqual(['recorded']);
    expect(await settle(record)).toEqual(['recorded']);
    const { requestLogId } = logged.log;
    expect(await logRow(requestLogId)).toMatchObject({
      user_id: null,
      team_id: team.keyOwner.kind === 'team' ? team.keyOwner.teamId : '',
      status_code: 502,
      error_code: 'upstream_error',
      prompt_tokens: null,
      caller_service: 'checkout',
      caller_component: 'cart',
      caller_env: 'prod',
      user_agent_raw: 'curl/8',
    });
    expect(
      await query('select tag_key, tag_value from request_log_tags where request_log_id = $1 order by 1', [
        requestLogId,
      ]),
    ).toEqual([
      { tag_key: 'a', tag_value: '1' },
      { tag_key: 'b', tag_value: 'x/y' },
    ]);
    expect(
      await query('select * from request_log_attempts where request_log_id = $1', [requestLogId]),
    ).toEqual([
      {
        request_log_id: requestLogId,
        ownership_scope_key: scopeOf(team),
        attempt_number: 1,
        provider_key: 'up',
        upstream_model: 'simulated-fast',
        status: 'stream_error',
        status_code: 200,
        error_code: 'upstream_error',
        error_detail: 'gone\uFFFD',
        stream: true,
        started_at: new Date(1_800_000_000_000),
        completed_at: new Date(1_800_000_000_250),
        latency_ms: 250,
      },
    ]);
  });

  it.each([
    ['U+0000', 'a\0b', 'a\uFFFDb'],
    ['a lone high surrogate', 'a\uD800b', 'a\uFFFDb'],
    ['a lone low surrogate', '\uDFFF', '\uFFFD'],
    ['a pair', '😀', '😀'],
    ['what only looks like an escape', String.raw`\u0000 \\u0000 \ud800`, String.raw`\u0000 \\u0000 \ud800`],
  ])('contain %s in a form that can be stored, also in metadata keys', async (_, given, stored) => {
    const user = await aUser(query);
    const requestId = `${randomUUID()} ${given}`;
    const charge = aCharge(user, 1n, { requestId, modelKey: given });
    const logged = aLog(user, {
      requestLogId: charge.requestLogId,
      requestId,
      modelKey: given,
      userAgent: given,
      metadata: { [given]: [given], plain: true },
    });
    expect(await settle({ charge, logged, release: undefined, deferrableTo: undefined })).toEqual([
      'recorded',
    ]);
    expect(await logRow(charge.requestLogId)).toMatchObject({
      request_id: requestId.replace(given, stored),
      model_key: stored,
      user_agent_raw: stored,
      metadata_json: { [stored]: [stored], plain: true },
    });
    expect(await ledgerRow(charge.requestLogId)).toMatchObject({
      request_id: requestId.replace(given, stored),
    });
    expect((await admitted(ledger(), anAsk(user, { requestId }))).alreadyAccounted).toBe(true);
  });

  it('keep request ids of 30 KB and of Latin-1 unchanged, in both tables, and are found by them', async () => {
    const user = await aUser(query);
    const latin1 = Array.from({ length: 255 - 0xa0 }, (_, index) => String.fromCharCode(0xa1 + index)).join(
      '',
    );
    const noise = Array.from({ length: 900 }, () => randomUUID())
      .join('')
      .slice(0, 30_000);
    for (const requestId of [`${latin1}${randomUUID()}`, noise, `${noise}x`]) {
      const record = aRecord(user, 1n, { requestId });
      expect(await settle(record)).toEqual(['recorded']);
      expect(await ledgerRow(record.charge.requestLogId)).toMatchObject({ request_id: requestId });
      expect(await logRow(record.charge.requestLogId)).toMatchObject({ request_id: requestId });
      expect(await settle(aRecord(user, 1n, { requestId }))).toEqual(['duplicate']);
      expect(await admitted(ledger(), anAsk(user, { requestId, claim: true }))).toMatchObject({
        alreadyAccounted: true,
      });
      const found = await query('select from request_logs where request_id = $1', [requestId]);
      expect(found).toHaveLength(2);
    }
  });
});
