import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { keylessCall } from '../../application/mcp/keyless-call.ts';
import type { InvocationRecord } from '../../application/ports/mcp-invocations.ts';
import { noSecrets } from '../../domain/payload/secrets.ts';
import { invocationQueue } from '../../infrastructure/postgres/invocation-queue.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { holder, untilWaiting } from './ledger-bench.ts';
import { tcpProxy } from './tcp-proxy.ts';

const database = withDatabase();
const query = queries(database.url);
let pool: DatabasePool;
beforeAll(async () => {
  pool = await openPool(database.url(), 2);
});
afterAll(async () => pool.end());

const record = (requestId: string, over: Partial<InvocationRecord> = {}): InvocationRecord => ({
  invocationId: randomUUID(),
  requestId,
  requestLogId: undefined,
  apiKeyId: undefined,
  owner: undefined,
  server: { id: 's', displayName: undefined },
  tool: { id: 's/t', displayName: undefined },
  status: 'success',
  policyResult: 'allowed',
  latencyMs: 1,
  errorCode: undefined,
  payload: { arguments: undefined, result: undefined },
  ...over,
});

const kept = async (requestId: string): Promise<number> => {
  const [row] = await query<{ count: string }>(
    `select count(*) as count from mcp_tool_invocations where request_id = '${requestId}'`,
  );
  return Number(row?.count);
};

const MiB = 1024 * 1024;

describe('the queue of records', () => {
  it('omits arguments and results first, and drops records last', async () => {
    const queue = invocationQueue(pool, { onFault: () => undefined, onDefect: () => undefined });
    const whole: boolean[] = [];
    const add = (bytes: number): void =>
      queue.add((isWhole) => {
        whole.push(isWhole);
        return record('full');
      }, bytes);
    for (let n = 0; n < 20; n += 1) add(MiB);
    expect(queue.counts().shed).toBe(0);
    for (let n = 0; n < 20_000; n += 1) add(MiB);
    expect(queue.counts().shed).toBeGreaterThan(10_000);
    await queue.close(10_000);
    const { kept: count, shed } = queue.counts();
    expect(count + shed).toBe(20_020);
    expect(await kept('full')).toBe(count);
    expect(whole.slice(0, 20)).toEqual([
      ...Array.from({ length: 15 }, () => true),
      ...Array.from({ length: 5 }, () => false),
    ]);
    // Written records free their room for later ones.
    add(MiB);
    await queue.close(5000);
    expect(queue.counts()).toMatchObject({ kept: count + 1, shed });
    expect(whole.at(-1)).toBe(true);
  });

  it('keeps records while the database is unreachable, and writes them afterwards', async () => {
    const proxy = await tcpProxy();
    const far = await openPool(proxy.to(database.url()), 1);
    const faults: unknown[] = [];
    const queue = invocationQueue(far, {
      onFault: (error) => void faults.push(error),
      onDefect: () => undefined,
    });
    await proxy.refuse();
    queue.add(() => record('away'), 0);
    while (faults.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect([await kept('away'), queue.counts().shed]).toEqual([0, 0]);
    await proxy.open();
    while ((await kept('away')) === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    await queue.close(5000);
    expect(queue.counts()).toMatchObject({ kept: 1, shed: 0 });
    await far.end();
    await proxy.close();
  });

  it('writes a record once if the answer of its statement was lost', async () => {
    const proxy = await tcpProxy();
    const far = await openPool(proxy.to(database.url()), 1);
    const queue = invocationQueue(far, { onFault: () => undefined, onDefect: () => undefined });
    const held = await holder(database.url());
    await held.query('select pg_advisory_xact_lock(4071771014)');
    queue.add(() => record('lost'), 0);
    await untilWaiting(query, 1);
    proxy.cut();
    // The server continues the statement after its client has disconnected, and the second attempt waits
    // behind it.
    await untilWaiting(query, 2);
    await held.commit();
    await queue.close(5000);
    expect([await kept('lost'), queue.counts()]).toEqual([1, { kept: 1, shed: 0 }]);
    await far.end();
    await proxy.close();
  });

  it('writes the other records if the database refuses one', async () => {
    const queue = invocationQueue(pool, { onFault: () => undefined, onDefect: () => undefined });
    for (const latencyMs of [1, -1, 2]) queue.add(() => record('one bad', { latencyMs }), 0);
    queue.add(() => {
      throw new Error('a defect');
    }, 0);
    await queue.close(5000);
    expect(await kept('one bad')).toBe(2);
    expect(queue.counts()).toMatchObject({ kept: 2, shed: 2 });
  });
});

describe('calls without a valid key', () => {
  it('produce at most 60 records a minute, and are all counted', () => {
    let now = 60_000;
    let records = 0;
    let told = 0;
    const refuse = keylessCall({
      clock: { now: () => now },
      telemetry: {
        begin: () => ({ traceContext: {}, sent: () => undefined, ended: () => void (told += 1) }),
      },
      record: () => void (records += 1),
      secrets: () => noSecrets,
    });
    const request = { requestId: 'r', receivedAt: now, serverId: 's', callerSecrets: [] };
    const error = { code: 'invalid_api_key', message: 'no' } as const;
    for (let n = 0; n < 100; n += 1) refuse(request, error);
    expect([records, told]).toEqual([60, 100]);
    now += 60_000;
    refuse(request, error);
    expect([records, told]).toEqual([61, 101]);
  });
});
