import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { recordInvocation, type ToolInvocation } from '../../application/mcp/record-invocation.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import { systemClock } from '../../infrastructure/clock.ts';
import { invocationQueue } from '../../infrastructure/postgres/invocation-queue.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { minute, requestLogsScene, root } from './request-logs-scene.ts';

const { query, databaseUrl, clock, admin, list, idOf, logIdOf } = requestLogsScene();

const fail = (error: unknown): void => {
  throw error;
};

describe('GET mcp-invocations', () => {
  let teams: string;
  let strangers: string;

  beforeAll(async () => {
    const pool = await openPool(databaseUrl(), 1);
    const queue = invocationQueue(pool, { onFault: fail, onDefect: fail });
    const added = recordInvocation({
      invocations: queue,
      clock: systemClock(),
      redaction: () => redactionRules([], []),
      captureMode: () => 'redacted_payloads',
    });
    const record = async (invocation: ToolInvocation): Promise<string> => {
      const id = added(invocation, 0);
      await queue.close(5000);
      return id;
    };
    const invocation = {
      requestId: 'r-2',
      requestLogId: await logIdOf('r-2'),
      callerSecrets: [],
      server: { id: 'files', displayName: 'Files' },
      tool: { id: 'files/read', displayName: 'Read' },
      latencyMs: 7,
      errorCode: undefined,
      payload: { arguments: { n: 1 }, result: undefined },
    };
    await clock.standAt(minute(2));
    teams = await record({
      ...invocation,
      caller: {
        apiKeyId: String(await idOf('api_keys', 'worker')),
        keyOwner: { kind: 'service_account', serviceAccountId: 'worker', teamId: 'platform' },
        allowedModels: [],
      },
      status: 'success',
      policyResult: 'allowed',
    });
    await clock.standAt(minute(10));
    strangers = await record({
      ...invocation,
      requestId: 'other',
      requestLogId: undefined,
      caller: undefined,
      tool: { id: 'files/write', displayName: undefined },
      status: 'unauthorized',
      policyResult: 'not_evaluated',
      errorCode: 'no_credential',
    });
    await pool.end();
  });

  it('lists invocation rows, newest first, and returns one by its id', async () => {
    await query(
      'update mcp_tool_invocations set arguments_truncated = true where mcp_tool_invocation_id = $1',
      [strangers],
    );
    const { items, ...page } = await list('mcp-invocations');
    expect(page).toEqual({ page: 1, page_size: 50, total: 2, total_is_lower_bound: false });
    expect(items).toEqual([
      {
        mcp_tool_invocation_id: strangers,
        request_id: 'other',
        request_log_id: null,
        api_key_id: null,
        user_id: null,
        team_id: null,
        owner_kind: null,
        server_id: 'files',
        server_display_name: 'Files',
        tool_id: 'files/write',
        tool_display_name: null,
        status: 'unauthorized',
        policy_result: 'not_evaluated',
        latency_ms: 7,
        error_code: 'no_credential',
        arguments_json: { n: 1 },
        result_json: null,
        arguments_truncated: true,
        result_truncated: false,
        occurred_at: minute(10),
      },
      expect.objectContaining({
        mcp_tool_invocation_id: teams,
        request_log_id: await logIdOf('r-2'),
        api_key_id: await idOf('api_keys', 'worker'),
        team_id: 'platform',
        owner_kind: 'team',
        error_code: null,
      }),
    ]);
    expect((await admin('GET', `${root}/mcp-invocations/${strangers}`)).data).toEqual(items[0]);
  });

  it('filters by each id, status, policy result, request id and time', async () => {
    const found = async (search: string) =>
      (await list('mcp-invocations', search)).items.map((item) => item['mcp_tool_invocation_id']);
    for (const search of [
      'request_id=r-2',
      `request_log_id=${await logIdOf('r-2')}`,
      `mcp_tool_invocation_id=${teams}`,
      `api_key_id=${String(await idOf('api_keys', 'worker'))}`,
      'team_id=platform',
      'tool_id=files/read',
      'status=success',
      'policy_result=allowed',
      'status=success&policy_result=allowed&server_id=files',
      `to=${minute(10)}`,
      'page=2&page_size=1',
    ])
      expect([search, await found(search)]).toEqual([search, [teams]]);
    for (const search of [
      'status=unauthorized',
      'policy_result=not_evaluated',
      `from=${minute(10)}`,
      'server_id=files&page_size=1',
    ])
      expect([search, await found(search)]).toEqual([search, [strangers]]);
    for (const search of [
      'user_id=00000000-0000-7000-8000-000000000000',
      'server_id=nowhere',
      'status=timeout',
    ])
      expect([search, await found(search)]).toEqual([search, []]);
  });

  it.each([
    ['status=failed', 'status'],
    ['policy_result=yes', 'policy_result'],
    ['request_log_id=r-2', 'request_log_id'],
    ['model_key=fast', 'model_key'],
  ])('?%s is refused with 400 and names the parameter %s', async (search, param) => {
    expect(await admin('GET', `${root}/mcp-invocations?${search}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it.each([randomUUID(), 'x'])('an id without a row is answered with 404 not_found (%#)', async (id) => {
    expect(await admin('GET', `${root}/mcp-invocations/${id}`)).toMatchObject({
      status: 404,
      error: { code: 'not_found' },
    });
  });
});
