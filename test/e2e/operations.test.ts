import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';
import { frames } from './held-upstream.ts';
import { key, requestOf, begin, statusOf, cuttable, operationsScene } from './operations-scene.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { eventually, outcomesOf } from './traces.ts';

const { traceOf, databaseUrl, upstream, held, config } = operationsScene();

describe('health and readiness', () => {
  it('without its database the process is alive and not ready, and becomes ready when the database is back', async () => {
    const line = await cuttable(databaseUrl());
    const gateway = await startGateway(config(), line.url);
    try {
      expect(await statusOf(gateway.url, '/readyz')).toBe(200);
      expect((await rawExchange(gateway.url, requestOf({}))).status).toBe(200);
      line.cut();
      const notReady = await eventually(async () => {
        const answer = await rawExchange(gateway.url, { method: 'GET', path: '/readyz' });
        return answer.status === 503 ? answer : undefined;
      });
      expect(JSON.parse(notReady.body)).toMatchObject({ status: 'not_ready', reason: /database/ });
      expect(await statusOf(gateway.url, '/healthz')).toBe(200);
      const before = upstream().requests();
      const refused = await rawExchange(gateway.url, requestOf({ requestId: 'no-database' }));
      expect(refused.status).toBe(503);
      expect(JSON.parse(refused.body)).toMatchObject({
        error: { type: 'overloaded_error', code: 'store_unavailable' },
      });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(upstream().requests()).toBe(before);
      expect(outcomesOf(gateway, 'no-database')).toMatchObject([{ outcome: 'overloaded' }]);
      line.mend();
      await eventually(async () => ((await statusOf(gateway.url, '/readyz')) === 200 ? true : undefined));
      expect((await rawExchange(gateway.url, requestOf({}))).status).toBe(200);
    } finally {
      await gateway.stop();
      line.close();
    }
  });

  it('the process is not ready while migrations are pending', async () => {
    const behind = await createDatabase();
    const gateway = await startGateway(config(), behind.url);
    try {
      const rows = await connected(behind.url, (client) =>
        client.query<object>(
          'delete from schema_migrations where version = (select max(version) from schema_migrations) returning *',
        ),
      );
      const answer = await rawExchange(gateway.url, { method: 'GET', path: '/readyz' });
      expect(answer.status).toBe(503);
      expect(answer.body).toContain('migrations are pending');
      await connected(behind.url, (client) =>
        client.query(
          'insert into schema_migrations values ($1, $2, $3, $4)',
          Object.values(rows.rows[0] ?? {}),
        ),
      );
      await eventually(async () => ((await statusOf(gateway.url, '/readyz')) === 200 ? true : undefined));
    } finally {
      await gateway.stop();
      await behind.drop();
    }
  });
});

describe('overload', () => {
  const overloaded = (answer: Awaited<ReturnType<typeof rawExchange>>): void => {
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body)).toMatchObject({
      error: { type: 'overloaded_error', code: 'overloaded', param: null },
    });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  };

  async function with_<A>(server: object, body: (gateway: TestGateway) => Promise<A>): Promise<A> {
    const gateway = await startGateway(config({ server: { bind: '127.0.0.1:0', ...server } }), databaseUrl());
    try {
      return await body(gateway);
    } finally {
      await gateway.stop();
    }
  }

  it('over max_in_flight a request is refused with 503 and not logged', () =>
    with_({ max_in_flight: 2, max_in_flight_per_owner: 2 }, async (gateway) => {
      const callers = [false, true].map((stream) => begin(gateway.url, { model: 'held', stream }));
      const calls = [await held().next(), await held().next()];
      overloaded(await rawExchange(gateway.url, requestOf({ requestId: 'over-1' })));
      expect(outcomesOf(gateway, 'over-1')).toMatchObject([{ outcome: 'overloaded', status: 503 }]);
      expect((await traceOf('over-1')).logs).toEqual([]);
      expect(await statusOf(gateway.url, '/readyz')).toBe(200);
      for (const call of calls) call.refuse(500);
      await eventually(async () =>
        (await rawExchange(gateway.url, requestOf({}))).status === 200 ? true : undefined,
      );
      for (const each of callers) each.socket.destroy();
    }));

  it('over max_buffered_bytes a body is refused with 503, and its room is freed', () =>
    with_({ max_buffered_bytes: 100_000, body_max_bytes: 100_000 }, async (gateway) => {
      const content = 'x'.repeat(60_000);
      const caller = begin(gateway.url, { model: 'held', content });
      const call = await held().next();
      const before = upstream().requests();
      overloaded(await rawExchange(gateway.url, requestOf({ content, requestId: 'over-2' })));
      const { logs, attempts } = await traceOf('over-2');
      expect(logs).toMatchObject([{ status_code: 503, error_code: 'overloaded' }]);
      expect(attempts).toEqual([]);
      expect(upstream().requests()).toBe(before);
      expect((await rawExchange(gateway.url, requestOf({}))).status).toBe(200);
      call.refuse(500);
      await eventually(async () =>
        (await rawExchange(gateway.url, requestOf({ content }))).status === 200 ? true : undefined,
      );
      caller.socket.destroy();
    }));

  it('an incomplete upstream event counts toward max_buffered_bytes: over it its stream ends', () =>
    with_({ max_buffered_bytes: 400_000, body_max_bytes: 100_000 }, async (gateway) => {
      const requestId = 'over-3';
      const caller = begin(gateway.url, { model: 'held', stream: true, requestId });
      const call = await held().next();
      call.head('stream');
      call.write(`${frames.content}data: {"x":"${'x'.repeat(450_000)}`);
      await eventually(() => caller.text().includes('"code":"overloaded"') || undefined);
      expect(caller.text()).not.toContain('[DONE]');
      await eventually(() => call.left() || undefined);
      expect(outcomesOf(gateway, requestId)).toMatchObject([{ outcome: 'overloaded', status: 503 }]);
      expect((await traceOf(requestId)).attempts).toMatchObject([
        { status: 'stream_error', error_code: 'overloaded' },
      ]);
      caller.socket.destroy();
    }));

  it('a whole answer counts toward max_buffered_bytes: over it that answer alone fails, and its room is freed', () =>
    with_({ max_buffered_bytes: 400_000, body_max_bytes: 100_000 }, async (gateway) => {
      const begun = async (requestId: string) => {
        const caller = begin(gateway.url, { model: 'held', requestId });
        const call = await held().next();
        call.head('whole');
        call.write(`{"choices":[],"x":"${'x'.repeat(250_000)}"`);
        await sleep(50);
        return { caller, call };
      };
      const answered = async ({ caller, call }: Awaited<ReturnType<typeof begun>>) => {
        call.write('}');
        call.end();
        await eventually(() => caller.text().includes('x"}') || undefined);
        expect(caller.text()).toMatch(/^HTTP\/1.1 200/);
        caller.socket.destroy();
      };
      const first = await begun('over-4');
      const second = await begun('over-5');
      await eventually(() => second.caller.text().includes('"code":"overloaded"') || undefined);
      await eventually(() => second.call.left() || undefined);
      expect(outcomesOf(gateway, 'over-5')).toMatchObject([{ outcome: 'overloaded', status: 503 }]);
      expect((await traceOf('over-5')).attempts).toMatchObject([
        { status: 'provider_error', error_code: 'overloaded' },
      ]);
      second.caller.socket.destroy();
      await answered(first);
      await answered(await begun('over-6'));
    }));

  it('complete events no longer count toward max_buffered_bytes', () =>
    with_({ max_buffered_bytes: 400_000, body_max_bytes: 100_000 }, async (gateway) => {
      const caller = begin(gateway.url, { model: 'held', stream: true });
      const call = await held().next();
      call.head('stream');
      for (let count = 0; count < 5; count += 1) call.write(`data: {"x":"${'x'.repeat(300_000)}"}\n\n`);
      call.write(frames.finish + frames.done);
      call.end();
      await eventually(() => caller.text().includes('[DONE]') || undefined);
      expect(caller.text()).not.toContain('"error"');
      caller.socket.destroy();
    }));

  it('a refused or aborted request releases its slot and its buffered bytes', () =>
    with_({ max_in_flight: 3, max_buffered_bytes: 50_000, body_max_bytes: 50_000 }, async (gateway) => {
      for (let round = 0; round < 20; round += 1) {
        const socket = rawSocket(gateway.url);
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
            `content-type: application/json\r\ncontent-length: 40000\r\n\r\n${'x'.repeat(30_000)}`,
        );
        await sleep(15);
        socket.destroy();
        await rawExchange(gateway.url, requestOf({ content: 'x'.repeat(60_000) }));
      }
      await eventually(async () => {
        const answer = await rawExchange(gateway.url, requestOf({ content: 'x'.repeat(40_000) }));
        return answer.status === 200 ? true : undefined;
      });
    }));
});
