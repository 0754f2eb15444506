import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AdminClient, withAdmin } from '../support/admin.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import { beginExchange } from './raw-http.ts';
import { embeddings, type Talk, talks } from './talk.ts';
import { eventually, tracesIn } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
const key = aKey();
/** Long against the clocks' resolution of 1 ms. */
const pauseMs = 50;
let upstream: HeldUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startHeldUpstream();
  gateway = await startGateway(basicConfig(upstream.url, key), database.url());
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});
const admin: AdminClient = withAdmin(database.url, () => gateway);

/** Starts a request and waits for its upstream call. */
async function begin({ path, body }: Talk, requestId: string, stream: boolean) {
  const socket = beginExchange(gateway.url, {
    path,
    headers: [
      ['authorization', `Bearer ${key}`],
      ['content-type', 'application/json'],
      ['x-request-id', requestId],
      ['connection', 'close'],
    ],
    body: JSON.stringify(body(stream)),
  });
  let text = '';
  socket.on('data', (piece: Buffer) => void (text += piece.toString()));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return { call: await upstream.next(), socket, text: () => text, closed };
}

const timesOf = async (requestId: string) => {
  const [log] = await eventually(async () => {
    const { logs } = await traceOf(requestId);
    return logs.length === 0 ? undefined : logs;
  });
  return { latency: Number(log?.['latency_ms']), first: log?.['first_token_ms'] };
};

describe('the time to the first token', () => {
  it.each(talks)(
    'of a stream of $operation is that of its first content, not of its first event or its end',
    async (talk) => {
      const id = `stream-${talk.operation}`;
      const { call, text, closed } = await begin(talk, id, true);
      call.head('stream');
      call.write(talk.upstream.begin);
      await sleep(pauseMs);
      call.write(talk.upstream.piece);
      await eventually(() => (text().includes('piece') ? true : undefined));
      await sleep(pauseMs);
      call.write(talk.upstream.finish + talk.upstream.usage + talk.upstream.done);
      call.end();
      await closed;
      const { latency, first } = await timesOf(id);
      expect(first).toBeGreaterThanOrEqual(pauseMs - 1);
      expect(first).toBeLessThanOrEqual(latency - pauseMs + 1);
    },
  );

  it.each([...talks, embeddings])('of $operation without streaming is null', async (talk) => {
    const id = `whole-${talk.operation}`;
    const { call, closed } = await begin(talk, id, false);
    call.head('whole');
    call.write(talk.upstream.whole);
    call.end();
    await closed;
    expect(await timesOf(id)).toEqual({ latency: expect.any(Number), first: null });
  });

  it.each(talks)(
    'of a stream of $operation that fails is null, unless content was sent before the failure',
    async (talk) => {
      for (const { id, says, expected } of [
        { id: `empty-${talk.operation}`, says: talk.upstream.begin, expected: null },
        {
          id: `begun-${talk.operation}`,
          says: talk.upstream.begin + talk.upstream.piece,
          expected: expect.any(Number) as unknown,
        },
      ]) {
        const { call, closed } = await begin(talk, id, true);
        call.head('stream');
        call.write(says + talk.upstream.error);
        call.end();
        await closed;
        expect(await timesOf(id)).toEqual({ latency: expect.any(Number), first: expected });
      }
    },
  );

  it('is in lists and details of request logs, and the overview has its quantiles', async () => {
    const { items } = (
      await admin('GET', '/api/v1/admin/observability/request-logs?request_id=stream-messages')
    ).data as { items: readonly { request_log_id: string; first_token_ms: number | null }[] };
    const { first } = await timesOf('stream-messages');
    expect(items).toMatchObject([{ first_token_ms: first }]);
    const detail = await admin('GET', `/api/v1/admin/observability/request-logs/${items[0]?.request_log_id}`);
    expect(detail.data).toMatchObject({ log: { first_token_ms: first } });
    const firsts = [];
    for (const { operation } of talks) firsts.push(Number((await timesOf(`stream-${operation}`)).first));
    firsts.sort((one, other) => one - other);
    const overview = (await admin('GET', '/api/v1/admin/overview')).data;
    expect(overview).toMatchObject({ last_day: { first_token_ms: { median: firsts[1], p95: firsts[2] } } });
  });
});
