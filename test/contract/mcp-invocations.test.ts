import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DatabasePool } from 'slonik';
import { recordInvocation, type ToolInvocation } from '../../application/mcp/record-invocation.ts';
import type { InvocationFilter, McpInvocations } from '../../application/ports/mcp-invocations.ts';
import { invocationStatuses, policyResults } from '../../domain/mcp/invocation.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import type { CaptureMode } from '../../domain/request-log/capture-policy.ts';
import { type Json, parseExact } from '../../domain/shared/json.ts';
import { maxMcpNameChars } from '../../domain/shared/limits.ts';
import { systemClock } from '../../infrastructure/clock.ts';
import { invocationQueue } from '../../infrastructure/postgres/invocation-queue.ts';
import { mcpInvocationsStore } from '../../infrastructure/postgres/mcp-invocations-store.ts';
import { tokenOverheads } from '../../infrastructure/postgres/mcp-overheads.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { aCanary, canaryLetter, holding } from '../support/arbitraries/payloads.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { aRecord, aTeam, aUser, settleTogether, withClock, withLedgers } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const { ledgers } = withLedgers(database.url);
const credential = 'a-credential-of-the-file';
const callerKey = 'gwk_0123456789abcdef.the-secret-half-of-a-key-that-is-long-enough';
let pool: DatabasePool;
let invocations: McpInvocations;
beforeAll(async () => {
  pool = await openPool(database.url(), 2);
  invocations = mcpInvocationsStore(pool);
});
afterAll(async () => pool.end());

const record = async (
  over: Partial<ToolInvocation>,
  captureMode: CaptureMode = 'redacted_payloads',
): Promise<string> => {
  const fail = (error: unknown): void => {
    throw error;
  };
  const queue = invocationQueue(pool, { onFault: fail, onDefect: fail });
  const id = recordInvocation({
    invocations: queue,
    clock: systemClock(),
    redaction: () => redactionRules(['arguments.customer.*', 'result.structuredContent.iban'], [credential]),
    captureMode: () => captureMode,
  })({ ...anInvocation, ...over }, 0);
  await queue.close(5000);
  return id;
};

const anInvocation: ToolInvocation = {
  requestId: 'r-1',
  requestLogId: undefined,
  caller: undefined,
  callerSecrets: [],
  server: { id: 'srv_1', displayName: 'Files' },
  tool: { id: 'tool_1', displayName: 'Read a file' },
  status: 'success',
  policyResult: 'allowed',
  latencyMs: 12,
  errorCode: undefined,
  payload: { arguments: { path: '/tmp' }, result: { content: [] } },
};

const found = async (id: string) => (await invocations.find(id))!;
const ofPayload = async (payload: ToolInvocation['payload'], over: Partial<ToolInvocation> = {}) => {
  const {
    arguments: args,
    argumentsTruncated,
    result,
    resultTruncated,
  } = await found(await record({ payload, ...over }));
  return { args, argumentsTruncated, result, resultTruncated };
};

const maxBytes = 16 * 1024;

describe('an MCP invocation record', () => {
  it('has status, owner, policy result, latency, request ids and stable ids of server and tool', async () => {
    await clock.standAt('2028-03-01T12:00:00Z');
    const caller = await aUser(query);
    const requestLogId = randomUUID();
    const id = await record({
      caller,
      requestLogId,
      status: 'timeout',
      policyResult: 'not_evaluated',
      errorCode: 'timeout',
    });
    expect(await invocations.find(id)).toEqual({
      invocationId: id,
      requestId: 'r-1',
      requestLogId,
      apiKeyId: caller.apiKeyId,
      owner: { kind: 'user', userId: caller.keyOwner.kind === 'user' ? caller.keyOwner.userId : '' },
      server: { id: 'srv_1', displayName: 'Files' },
      tool: { id: 'tool_1', displayName: 'Read a file' },
      status: 'timeout',
      policyResult: 'not_evaluated',
      latencyMs: 12,
      errorCode: 'timeout',
      arguments: '{"path":"/tmp"}',
      result: '{"content":[]}',
      argumentsTruncated: false,
      resultTruncated: false,
      occurredAt: new Date('2028-03-01T12:00:00Z'),
    });
    expect(await invocations.find(randomUUID())).toBeUndefined();
  });

  it("has arguments and result if bodies of the caller's requests are retained, and exists without them if not", async () => {
    const user = await aUser(query);
    const unlogged = {
      ...user,
      keyOwner: { kind: 'user', userId: randomUUID(), requestLoggingEnabled: false },
    } as const;
    const rows = [
      await record({ caller: user }),
      await record({ caller: user }, 'summary_only'),
      await record({ caller: user }, 'disabled'),
      await record({ caller: unlogged }),
    ];
    const withoutPayload = {
      arguments: undefined,
      result: undefined,
      argumentsTruncated: false,
      resultTruncated: false,
      status: 'success',
      tool: { id: 'tool_1' },
    };
    expect(await Promise.all(rows.map(found))).toMatchObject([
      { arguments: '{"path":"/tmp"}', result: '{"content":[]}' },
      ...[1, 2, 3].map(() => withoutPayload),
    ]);
  });

  it('of a team or its service account is owned by the team; without a caller it has no owner', async () => {
    const [team, worker] = await aTeam(query);
    const owner = { kind: 'team', teamId: team.keyOwner.kind === 'team' ? team.keyOwner.teamId : '' };
    expect((await found(await record({ caller: team }))).owner).toEqual(owner);
    expect((await found(await record({ caller: worker }))).owner).toEqual(owner);
    expect(await found(await record({ status: 'unauthorized' }))).toMatchObject({
      owner: undefined,
      apiKeyId: undefined,
    });
  });

  it.each(
    invocationStatuses.flatMap((status) =>
      policyResults.map((policyResult) => [status, policyResult] as const),
    ),
  )('can have the status %s with the policy result %s', async (status, policyResult) => {
    expect(await found(await record({ status, policyResult }))).toMatchObject({ status, policyResult });
  });

  it('stays when its request log is deleted: `request_log_id` is not a foreign key', async () => {
    const log = aRecord(await aUser(query), 1n);
    const { requestLogId } = log.charge;
    await settleTogether(ledgers[0]!, [log]);
    const id = await record({ requestLogId });
    const overheads = tokenOverheads(pool, () => undefined);
    overheads.put({
      requestId: 'purged',
      requestLogId,
      serverCount: 1,
      toolCount: 2,
      toolDefinitionBytes: 3000,
      toolDefinitionTokens: undefined,
      toolResultTokens: undefined,
    });
    await overheads.close(5000);
    await query('delete from request_logs where request_log_id = $1', [requestLogId]);
    expect((await found(id)).requestLogId).toBe(requestLogId);
    expect(
      await query('select request_log_id from request_mcp_token_overheads where request_log_id = $1', [
        requestLogId,
      ]),
    ).toHaveLength(1);
  });
});

describe('a token overhead', () => {
  it('is kept, and replaced by a later one, while all tables are replicated logically', async () => {
    await query('create publication all_of_them for all tables');
    const overheads = tokenOverheads(pool, (error) => {
      throw error;
    });
    for (const toolCount of [2, 3]) {
      overheads.put({
        requestId: 'replicated',
        requestLogId: undefined,
        serverCount: 1,
        toolCount,
        toolDefinitionBytes: 3000,
        toolDefinitionTokens: undefined,
        toolResultTokens: undefined,
      });
      await overheads.close(5000);
    }
    await query('drop publication all_of_them');
    expect(
      await query(`select tool_count from request_mcp_token_overheads where request_id = 'replicated'`),
    ).toEqual([{ tool_count: 3 }]);
  });
});

describe('names of servers, tools and errors', () => {
  it.each([0, 8, 20, 30])(
    'are truncated without leaving part of a secret: %d characters before the limit',
    async (half) => {
      const name = `${'a'.repeat(maxMcpNameChars - half)}${callerKey}`;
      const id = await record({
        callerSecrets: [callerKey],
        server: { id: name, displayName: name },
        tool: { id: name, displayName: name },
        errorCode: name,
      });
      const rows = await query(`select * from mcp_tool_invocations where mcp_tool_invocation_id = $1`, [id]);
      expect(JSON.stringify(rows)).not.toContain(callerKey.slice(0, 8));
      expect((await found(id)).server.id.length).toBeLessThanOrEqual(maxMcpNameChars);
    },
  );
});

describe('arguments and result of an invocation record', () => {
  it("are redacted: built-in keys, configured paths, credentials and the caller's key", async () => {
    expect(
      await ofPayload(
        {
          arguments: {
            API_KEY: 'x',
            customer: { name: 'N', age: 3 },
            note: `use ${credential}`,
            key: callerKey,
          },
          result: { structuredContent: { iban: 'DE', amount: 1 }, url: 'https://u:p@host/a?token=1#b' },
        },
        { callerSecrets: [callerKey] },
      ),
    ).toEqual({
      args: '{"API_KEY":"[REDACTED]","customer":{"name":"[REDACTED]","age":"[REDACTED]"},"note":"use [REDACTED]","key":"[REDACTED]"}',
      argumentsTruncated: false,
      result: '{"structuredContent":{"iban":"[REDACTED]","amount":1},"url":"https://host/a?[REDACTED]"}',
      resultTruncated: false,
    });
  });

  it('have the query components of URLs removed from error results, and only from these', async () => {
    const content = [{ type: 'text', text: 'GET https://host/a?sig=secret failed' }];
    const { result } = await ofPayload({ arguments: undefined, result: { isError: true, content } });
    expect(result).not.toContain('secret');
    expect(result).toContain('https://host/a?');
    expect((await ofPayload({ arguments: undefined, result: { content } })).result).toContain('sig=secret');
  });

  it('have them removed from all of a JSON-RPC error, and configured `result` paths redact it', async () => {
    const words = 'GET https://host/a?sig=secret failed';
    const error = {
      code: -32000,
      message: words,
      data: { cause: [words], structuredContent: { iban: 'DE' } },
    };
    for (const result of [undefined, null])
      expect((await ofPayload({ arguments: undefined, result, error })).result).toBe(
        '{"code":-32000,"message":"GET https://host/a?[REDACTED] failed",' +
          '"data":{"cause":["GET https://host/a?[REDACTED] failed"],"structuredContent":{"iban":"DE"}}}',
      );
    const ofPath = await ofPayload({
      arguments: undefined,
      result: undefined,
      error: { structuredContent: { iban: 'DE' } },
    });
    expect(ofPath.result).toBe('{"structuredContent":{"iban":"[REDACTED]"}}');
  });

  it('are undefined if they were undefined, and `null` if they were null', async () => {
    expect(await ofPayload({ arguments: undefined, result: null })).toEqual({
      args: undefined,
      argumentsTruncated: false,
      result: 'null',
      resultTruncated: false,
    });
  });

  it('keep every digit', async () => {
    const text = '{"n":9007199254740993,"m":0.10,"e":1E400}';
    expect((await ofPayload({ arguments: parseExact(text), result: undefined })).args).toBe(text);
  });

  it('have the data of images truncated', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(5000) };
    const { result, resultTruncated } = await ofPayload({
      arguments: undefined,
      result: { content: [image] },
    });
    expect(resultTruncated).toBe(true);
    expect(result).toBe(
      '{"content":[{"type":"image","mimeType":"image/png","data":"[TRUNCATED 5000 characters]"}]}',
    );
  });

  it('have at most 16 KiB each in UTF-8 and are valid JSON; truncation is flagged', async () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', minLength: 10_000, maxLength: 20_000 }),
      fc.integer({ min: 1, max: 20_000 }).map((chars) => 'ü'.repeat(chars)),
      fc.integer({ min: maxBytes - 40, max: maxBytes }).map((chars) => 'x'.repeat(chars)),
      fc.integer({ min: 1, max: 9000 }).map((items) => Array.from({ length: items }, (_, n) => n)),
    );
    const printable = (json: Json): string => JSON.stringify(json).replaceAll('\\u0000', '?');
    await fc.assert(
      fc.asyncProperty(holding(value), holding(value), async (args, result) => {
        const stored = await ofPayload({ arguments: args, result });
        for (const [given, text, truncated] of [
          [args, stored.args!, stored.argumentsTruncated],
          [result, stored.result!, stored.resultTruncated],
        ] as const) {
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
          expect(() => JSON.parse(text) as unknown).not.toThrow();
          if (Buffer.byteLength(printable(given)) > maxBytes) expect(truncated).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('never contain a secret, at any position', async () => {
    const aCase = aCanary
      .map((canary) => `${canary}${canaryLetter.repeat(8)}`)
      .chain((secret) => holding(fc.constant(`a ${secret} b`)).map((tree) => ({ secret, tree })));
    await fc.assert(
      fc.asyncProperty(aCase, async ({ secret, tree }) => {
        const { args, result } = await ofPayload(
          { arguments: tree, result: { content: [{ type: 'text', text: JSON.stringify(tree) }] } },
          { callerSecrets: [secret] },
        );
        expect(`${args}${result}`).not.toContain(canaryLetter);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['U+0000', 'a\0b', 'a\uFFFDb'],
    ['a lone surrogate', 'a\uD800b', 'a\uFFFDb'],
    ['a pair', '😀', '😀'],
  ])('contain %s in a form that can be stored, and so do names', async (_, given, stored) => {
    const id = await record({
      requestId: given,
      server: { id: given, displayName: given },
      tool: { id: `${'x'.repeat(255)}😀`, displayName: undefined },
      payload: { arguments: { [given]: given }, result: given },
    });
    expect(await found(id)).toMatchObject({
      requestId: stored,
      server: { id: stored, displayName: stored },
      tool: { id: `${'x'.repeat(255)}\uFFFD`, displayName: undefined },
      arguments: JSON.stringify({ [stored]: stored }),
      result: JSON.stringify(stored),
    });
  });
});

describe('the list of MCP invocations', () => {
  const ids = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`);
  const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts);
  const anInstant = fc
    .tuple(fc.constantFrom(0, 5, 60), fc.constantFrom(-1, 0, 1))
    .map(([minutes, ms]) => new Date(Date.UTC(2028, 1, 29, 23, 55 + minutes) + ms));
  const aRow = fc.record({
    mcp_tool_invocation_id: fc.uuid(),
    request_id: oneOf('one', 'x'.repeat(9000)),
    request_log_id: fc.option(oneOf(...ids), { nil: null }),
    api_key_id: fc.option(oneOf(...ids), { nil: null }),
    owner: fc.option(
      fc.oneof(
        oneOf(...ids).map((id) => ({ user_id: id, team_id: null, owner_kind: 'user' })),
        oneOf('a', 'b').map((id) => ({ user_id: null, team_id: id, owner_kind: 'team' })),
      ),
      { nil: { user_id: null, team_id: null, owner_kind: null } },
    ),
    server_id: oneOf('a', 'b'),
    tool_id: oneOf('a', 'b'),
    status: fc.constantFrom(...invocationStatuses, 'success' as const, 'success' as const),
    policy_result: fc.constantFrom(...policyResults),
    occurred_at: anInstant.map((at) => at.toISOString()),
  });
  const rarely = <A>(arbitrary: fc.Arbitrary<A>) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
  const aFilter: fc.Arbitrary<InvocationFilter> = fc.record({
    invocationId: fc.oneof(
      { weight: 20, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.uuid() },
    ),
    requestId: rarely(oneOf('one', 'x'.repeat(9000), 'never')),
    requestLogId: rarely(oneOf(...ids)),
    apiKeyId: rarely(oneOf(...ids)),
    userId: rarely(oneOf(...ids)),
    teamId: rarely(oneOf('a', 'c')),
    serverId: rarely(oneOf('a', 'c')),
    toolId: rarely(oneOf('a', 'c')),
    status: rarely(fc.constantFrom(...invocationStatuses)),
    policyResult: rarely(fc.constantFrom(...policyResults)),
    from: rarely(anInstant),
    until: rarely(anInstant),
  });
  type Row = typeof aRow extends fc.Arbitrary<infer A> ? A : never;

  function meets({ owner, ...row }: Row, filter: InvocationFilter): boolean {
    const pairs: readonly (readonly [unknown, unknown])[] = [
      [filter.invocationId, row.mcp_tool_invocation_id],
      [filter.requestId, row.request_id],
      [filter.requestLogId, row.request_log_id],
      [filter.apiKeyId, row.api_key_id],
      [filter.userId, owner.user_id],
      [filter.teamId, owner.team_id],
      [filter.serverId, row.server_id],
      [filter.toolId, row.tool_id],
      [filter.status, row.status],
      [filter.policyResult, row.policy_result],
    ];
    const at = Date.parse(row.occurred_at);
    return (
      pairs.every(([wanted, present]) => wanted === undefined || wanted === present) &&
      at >= (filter.from?.getTime() ?? at) &&
      (filter.until === undefined || at < filter.until.getTime())
    );
  }

  it('selects the rows that match every filter, newest first; its pages are complete and repeat nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(aRow, {
          minLength: 1,
          maxLength: 40,
          size: 'max',
          selector: (row) => row.mcp_tool_invocation_id,
        }),
        fc.array(aFilter, { minLength: 8, maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        async (rows, filters, pageSize) => {
          await query('truncate mcp_tool_invocations');
          await query(
            `insert into mcp_tool_invocations (
               mcp_tool_invocation_id, request_id, request_log_id, api_key_id, user_id, team_id, owner_kind, server_id,
               tool_id, status, policy_result, occurred_at, latency_ms, arguments_truncated, result_truncated)
             select r.*, 1, false, false from json_to_recordset($1) r(
               mcp_tool_invocation_id uuid, request_id text, request_log_id uuid, api_key_id uuid, user_id uuid,
               team_id text, owner_kind text, server_id text, tool_id text, status text, policy_result text,
               occurred_at timestamptz)`,
            [JSON.stringify(rows.map(({ owner, ...row }) => ({ ...row, ...owner })))],
          );
          for (const filter of filters) {
            const expected = rows
              .filter((row) => meets(row, filter))
              .toSorted(
                (a, b) =>
                  Date.parse(b.occurred_at) - Date.parse(a.occurred_at) ||
                  (a.mcp_tool_invocation_id < b.mcp_tool_invocation_id ? 1 : -1),
              );
            const listed: string[] = [];
            for (let page = 1; ; page += 1) {
              const { items, total } = await invocations.page(filter, { page, pageSize });
              expect(total).toBe(expected.length);
              listed.push(...items.map(({ invocationId }) => invocationId));
              if (items.length === 0) break;
            }
            expect(listed).toEqual(expected.map((row) => row.mcp_tool_invocation_id));
          }
        },
      ),
      { numRuns: 15 },
    );
  });
});
