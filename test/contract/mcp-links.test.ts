import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { recordInvocation } from '../../application/mcp/record-invocation.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import { systemClock } from '../../infrastructure/clock.ts';
import { invocationQueue } from '../../infrastructure/postgres/invocation-queue.ts';
import { mcpInvocationsStore } from '../../infrastructure/postgres/mcp-invocations-store.ts';
import { invocationLinks } from '../../infrastructure/postgres/mcp-links.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aRecord,
  aTeam,
  aUser,
  holder,
  scopeOf,
  settleTogether,
  untilWaiting,
  userIdOf,
  withLedgers,
} from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);
let pool: DatabasePool;
beforeAll(async () => {
  pool = await openPool(database.url(), 2);
});
afterAll(async () => pool.end());

const fail = (error: unknown): void => {
  throw error;
};

/** Records a tool call; returns its id. */
async function called(requestId: string, caller: Caller | undefined): Promise<string> {
  const queue = invocationQueue(pool, { onFault: fail, onDefect: fail });
  const id = recordInvocation({
    invocations: queue,
    clock: systemClock(),
    redaction: () => redactionRules([], []),
    captureMode: () => 'redacted_payloads',
  })(
    {
      requestId,
      requestLogId: undefined,
      caller,
      callerSecrets: [],
      server: { id: 'files', displayName: 'Files' },
      tool: { id: 'files/read', displayName: undefined },
      status: 'success',
      policyResult: 'allowed',
      latencyMs: 1,
      errorCode: undefined,
      payload: { arguments: undefined, result: undefined },
    },
    0,
  );
  await queue.close(5000);
  return id;
}

/** Settles a model request; returns the id of its log row. */
async function settled(requestId: string, caller: Caller): Promise<string> {
  const requestLogId = systemClock().newId();
  const record = aRecord(caller, 1n, { requestId, requestLogId });
  await settleTogether(ledgers[0]!, [record]);
  return requestLogId;
}

/**
 * Settles a model request, then links earlier tool calls to it, as after an answer; returns the id of its log
 * row.
 */
async function logged(requestId: string, caller: Caller): Promise<string> {
  const requestLogId = await settled(requestId, caller);
  await told(requestId, caller, requestLogId);
  return requestLogId;
}

async function told(requestId: string, caller: Caller, requestLogId: string): Promise<void> {
  const links = invocationLinks(pool, fail);
  links.logged({ requestId, requestLogId, scope: scopeOf(caller) });
  await links.close(5000);
}

const linkOf = async (id: string): Promise<string | undefined> =>
  (await mcpInvocationsStore(pool).find(id))?.requestLogId;

describe('a tool call and a model request of the same request id', () => {
  it('are linked if they have the same owner, the request first', async () => {
    const requestId = randomUUID();
    const user = await aUser(query);
    const [team, worker] = await aTeam(query);
    const own = await settled(requestId, user);
    expect(await linkOf(await called(requestId, user))).toBe(own);
    expect(await linkOf(await called(requestId, worker))).toBeUndefined();
    expect(await linkOf(await called(requestId, undefined))).toBeUndefined();
    expect(await linkOf(await called(randomUUID(), user))).toBeUndefined();
    const teams = await settled(requestId, team);
    expect(await linkOf(await called(requestId, worker))).toBe(teams);
  });

  it('are linked if they have the same owner, the call first', async () => {
    const requestId = randomUUID();
    const user = await aUser(query);
    const calls = [
      await called(requestId, user),
      await called(requestId, await aUser(query)),
      await called(requestId, undefined),
      await called(randomUUID(), user),
    ];
    const own = await logged(requestId, user);
    expect(await Promise.all(calls.map(linkOf))).toEqual([own, undefined, undefined, undefined]);
  });

  it('of several requests: a call is linked to the last one before it, else to the first one after it', async () => {
    const requestId = randomUUID();
    const user = await aUser(query);
    const before = await called(requestId, user);
    const requests: string[] = [];
    const calls: string[] = [];
    for (let turn = 0; turn < 2; turn += 1) {
      // The ledger accepts a request id once; the log accepts it every time.
      const requestLogId = await logged(requestId, user);
      requests.push(requestLogId);
      calls.push(await called(requestId, user));
    }
    expect(await Promise.all([before, ...calls].map(linkOf))).toEqual([requests[0], ...requests]);
  });

  it('are not linked if more than a day is between them', async () => {
    const requestId = randomUUID();
    const user = await aUser(query);
    const call = await called(requestId, user);
    await query(
      `update mcp_tool_invocations set occurred_at = now() - interval '25 hours'
       where mcp_tool_invocation_id = $1`,
      [call],
    );
    const request = await logged(requestId, user);
    expect(await linkOf(call)).toBeUndefined();
    await query(
      `update request_logs set occurred_at = now() - interval '25 hours' where request_log_id = $1`,
      [request],
    );
    expect(await linkOf(await called(requestId, user))).toBeUndefined();
  });

  it('are linked if they are written at the same moment', async () => {
    const requestId = randomUUID();
    const user = await aUser(query);
    const id = randomUUID();
    const writing = await holder(database.url());
    await writing.query('select gateway_keep_invocations($1)', [
      JSON.stringify([
        {
          mcp_tool_invocation_id: id,
          request_id: requestId,
          user_id: userIdOf(user),
          owner_kind: 'user',
          server_id: 'files',
          tool_id: 'files/read',
          status: 'success',
          policy_result: 'allowed',
          latency_ms: 1,
          arguments_truncated: false,
          result_truncated: false,
        },
      ]),
    ]);
    const requestLogId = await settled(requestId, user);
    const telling = told(requestId, user, requestLogId);
    await untilWaiting(query, 1);
    await writing.commit();
    await telling;
    expect(await linkOf(id)).toBe(requestLogId);
  });
});

describe('a request id that very many calls share', () => {
  it('is linked to at most 1,000 calls', async () => {
    const requestId = randomUUID();
    const user = await aUser(query);
    await query(
      `insert into mcp_tool_invocations (mcp_tool_invocation_id, request_id, user_id, owner_kind, server_id, tool_id,
         status, policy_result, latency_ms, arguments_truncated, result_truncated, occurred_at)
       select gen_random_uuid(), $1, $2, 'user', 's', 's/t', 'success', 'allowed', 1, false, false, gateway_now()
       from generate_series(1, 1500)`,
      [requestId, userIdOf(user)],
    );
    await logged(requestId, user);
    const [row] = await query(
      `select count(request_log_id)::int as linked from mcp_tool_invocations where request_id = $1`,
      [requestId],
    );
    expect(row).toEqual({ linked: 1000 });
  });
});
