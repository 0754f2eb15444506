import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { tcpProxy, type TcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type GatewayProcess,
  queries,
  spawnGateway,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { callers, type LoadOutcome } from '../support/load.ts';
import { randomFrom, tortureSeed } from '../support/seeded.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { type HeldCall, type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import { beginExchange, rawExchange } from './raw-http.ts';
import { chat, messages, responses, type Talk, wholeStream } from './talk.ts';
import { eventually, outcomesOf, type Trace, tracesIn } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
const keys = { free: aKey(), soft: aKey(), hard: aKey(), team: aKey(), account: aKey() };
type Owner = keyof typeof keys;

let upstream: HeldUpstream;
let proxy: TcpProxy;
beforeAll(async () => {
  upstream = await startHeldUpstream();
  proxy = await tcpProxy();
});
afterAll(async () => {
  await upstream?.close();
  await proxy?.close();
});
afterEach(() => proxy.open());

const budget = (hard_limit: boolean) => ({ cadence: 'daily', amount_10000: 1_000_000, hard_limit });

const config = () =>
  basicConfig(upstream.url, keys.free, {
    more: {
      teams: [{ id: 'platform', name: 'Platform', budget: budget(false) }],
      service_accounts: [{ id: 'ci', name: 'CI', team: 'platform' }],
      users: [
        { email: 'free@example.com' },
        { email: 'soft@example.com', budget: budget(false) },
        { email: 'hard@example.com', budget: budget(true) },
      ],
      api_keys: [
        { name: 'free', owner: 'user:free@example.com', value: keys.free },
        { name: 'soft', owner: 'user:soft@example.com', value: keys.soft },
        { name: 'hard', owner: 'user:hard@example.com', value: keys.hard },
        { name: 'team', owner: 'team:platform', value: keys.team },
        { name: 'account', owner: 'service_account:ci', value: keys.account },
      ],
    },
  });

/** Not streamed, and with no completion tokens. */
const embeddings = {
  path: '/v1/embeddings',
  body: () => ({ model: 'fast', input: 'Hi' }),
  upstream: {
    whole: JSON.stringify({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.25, -1] }],
      model: 'm',
      usage: { prompt_tokens: 10, total_tokens: 10 },
    }),
  },
  end: { whole: '"embedding":[0.25,-1]' },
};

/** A kind of request, the upstream's answer to it, and what marks the caller's answer as complete. */
interface Way {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  readonly kind: 'stream' | 'whole';
  /** What the upstream sends before and after the database is lost. */
  readonly pieces: readonly [string, string];
  readonly end: string;
  readonly failure: string;
  readonly cost: bigint;
}

const cost = 10n * 150_000n + 20n * 600_000n;
const wayOf = (talk: Talk, stream: boolean): Way => {
  const { begin, piece, whole } = talk.upstream;
  const before = stream ? begin + piece : '';
  return {
    name: `${talk.operation}${stream ? ', streamed' : ''}`,
    path: talk.path,
    body: talk.body(stream),
    kind: stream ? 'stream' : 'whole',
    pieces: [before, stream ? wholeStream(talk).slice(before.length) : whole],
    end: stream ? talk.end.stream : talk.end.whole,
    failure: talk.failure,
    cost,
  };
};
const ways: readonly Way[] = [
  ...[chat, messages, responses].flatMap((talk) => [wayOf(talk, false), wayOf(talk, true)]),
  {
    name: 'embeddings',
    path: embeddings.path,
    body: embeddings.body(),
    kind: 'whole',
    pieces: ['', embeddings.upstream.whole],
    end: embeddings.end.whole,
    failure: '',
    cost: 10n * 150_000n,
  },
];
const [oneWay] = ways;

interface Asked {
  readonly requestId: string;
  readonly way: Way;
  readonly call: HeldCall;
  readonly text: () => string;
  readonly ended: Promise<string>;
}

/** Starts a request; its upstream begins to answer and then waits. */
async function ask(url: string, owner: Owner, way: Way): Promise<Asked> {
  const requestId = `journal-${randomUUID()}`;
  const socket = beginExchange(url, {
    path: way.path,
    headers: [
      ['authorization', `Bearer ${keys[owner]}`],
      ['content-type', 'application/json'],
      ['x-request-id', requestId],
      ['connection', 'close'],
    ],
    body: JSON.stringify(way.body),
  });
  let text = '';
  socket.on('data', (piece: Buffer) => void (text += piece.toString()));
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  const call = await upstream.next();
  call.head(way.kind);
  if (way.pieces[0] !== '') call.write(way.pieces[0]);
  return { requestId, way, call, text: () => text, ended };
}

/** Lets the upstream complete its answer, and waits for the end of the caller's answer. */
async function answered({ call, way, ended }: Asked): Promise<string> {
  call.write(way.pieces[1]);
  call.end();
  return ended;
}

const settled = (requestId: string): Promise<Trace> =>
  eventually(async () => {
    const trace = await traceOf(requestId);
    return trace.logs.length > 0 ? trace : undefined;
  });

async function expectRows({ requestId, way }: Asked): Promise<void> {
  const { ledger, logs, attempts } = await settled(requestId);
  expect(ledger).toMatchObject([
    { pricing_status: 'priced', prompt_tokens: '10', cost_picousd: String(way.cost) },
  ]);
  const first_token_ms: unknown = way.kind === 'stream' ? expect.any(Number) : null;
  expect(logs).toMatchObject([{ status_code: 200, error_code: null, first_token_ms }]);
  expect(attempts).toMatchObject([{ status: 'success' }]);
}

const recordsIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.journal'));

/** Checks that day totals and rollups are the sums of the ledger rows. */
async function expectSums(): Promise<void> {
  expect(
    await query(`select * from (
        select ownership_scope_key as scope, sum(cost_picousd) as rows, count(*) as number from usage_cost_events group by 1) e
      join (select ownership_scope_key as scope, sum(counted_picousd) as days from usage_daily_totals group by 1) d using (scope)
      join (select ownership_scope_key as scope, sum(counted_picousd) as buckets, sum(request_count) as counted
            from usage_rollups group by 1) r using (scope)
      where rows <> days or rows <> buckets or number <> counted`),
  ).toEqual([]);
}

describe('if the database is lost between the provider and the settlement', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(config(), proxy.to(database.url()));
  });
  afterAll(() => gateway?.stop());

  it('requests without a hard limit complete, and their rows are written with exact costs once it is back', async () => {
    const asked: Asked[] = [];
    for (const way of ways)
      for (const owner of ['free', 'soft'] as const) asked.push(await ask(gateway.url, owner, way));
    for (const owner of ['team', 'account'] as const) asked.push(await ask(gateway.url, owner, oneWay!));
    await proxy.refuse();
    for (const each of asked) {
      const text = await answered(each);
      expect(text).toContain('HTTP/1.1 200');
      expect(text).toContain(each.way.end);
      expect(outcomesOf(gateway, each.requestId)).toMatchObject([
        { outcome: 'success', settled: 'journaled' },
      ]);
      expect((await traceOf(each.requestId)).logs).toEqual([]);
    }
    await proxy.open();
    for (const each of asked) await expectRows(each);
    await expectSums();
  });

  it('requests of an owner with a hard limit fail with store_unavailable and leave no rows', async () => {
    const asked: Asked[] = [];
    for (const way of ways) asked.push(await ask(gateway.url, 'hard', way));
    await proxy.refuse();
    for (const each of asked) {
      const text = await answered(each);
      expect(text).not.toContain(each.way.end);
      if (each.way.kind === 'stream') {
        expect(text).toContain('HTTP/1.1 200');
        expect(text).toContain(each.way.failure);
      } else {
        expect(text).toContain('HTTP/1.1 503');
        expect(text.toLowerCase()).toContain('\r\nretry-after: ');
      }
      expect(text).toContain('store_unavailable');
      expect(outcomesOf(gateway, each.requestId)).toMatchObject([{ outcome: 'overloaded', settled: 'lost' }]);
    }
    await proxy.open();
    const after = await ask(gateway.url, 'soft', oneWay!);
    expect(await answered(after)).toContain('HTTP/1.1 200');
    await expectRows(after);
    for (const { requestId } of asked)
      expect(await traceOf(requestId)).toMatchObject({ logs: [], ledger: [] });
  });

  it('new requests get 503 with Retry-After, and nothing is sent upstream', async () => {
    await proxy.refuse();
    const before = upstream.calls();
    for (const owner of ['free', 'soft', 'hard', 'team', 'account'] as const) {
      const answer = await rawExchange(gateway.url, {
        path: '/v1/chat/completions',
        headers: [
          ['authorization', `Bearer ${keys[owner]}`],
          ['content-type', 'application/json'],
        ],
        body: JSON.stringify(chat.body(false)),
      });
      expect([answer.status, Number(answer.headers['retry-after']) > 0]).toEqual([503, true]);
      expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'store_unavailable' } });
    }
    expect(upstream.calls()).toBe(before);
  });

  it('a process that stops just after it is back settles the records of its journal before it exits', async () => {
    const short = await startGateway(config(), proxy.to(database.url()));
    const asked = await ask(short.url, 'soft', oneWay!);
    await proxy.refuse();
    expect(await answered(asked)).toContain('HTTP/1.1 200');
    await proxy.open();
    await short.stop();
    expect((await traceOf(asked.requestId)).ledger).toMatchObject([{ cost_picousd: String(cost) }]);
  });
});

describe('gateway serve', () => {
  const spawned: GatewayProcess[] = [];
  const spawn = async (dataDir: string): Promise<GatewayProcess> => {
    const gateway = await spawnGateway(config(), proxy.to(database.url()), [], dataDir);
    spawned.push(gateway);
    return gateway;
  };
  afterAll(async () => {
    for (const { kill } of spawned) kill();
    await Promise.all(spawned.map(({ exited }) => exited));
  });

  it('logs at startup where the journal is, and that it needs a durable disk', async () => {
    const dataDir = await makeTestFolder('journal');
    const { output } = await spawn(dataDir);
    const line =
      output()
        .split('\n')
        .find((each) => each.includes('durable disk')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ level: 'info', journal: path.join(dataDir, 'journal') });
  });

  it('that is killed with records in its journal writes their rows after the next start', async () => {
    const dataDir = await makeTestFolder('journal');
    const gateway = await spawn(dataDir);
    const asked: Asked[] = [];
    for (const way of ways) asked.push(await ask(gateway.url, 'soft', way));
    await proxy.refuse();
    for (const each of asked) expect(await answered(each)).toContain(each.way.end);
    gateway.kill();
    await gateway.exited;
    expect(await recordsIn(path.join(dataDir, 'journal'))).not.toEqual([]);
    await proxy.open();
    for (const { requestId } of asked) expect((await traceOf(requestId)).logs).toEqual([]);
    await spawn(dataDir);
    for (const each of asked) await expectRows(each);
    await eventually(async () =>
      (await readdir(path.join(dataDir, 'journal'))).length === 0 ? true : undefined,
    );
    await expectSums();
  });

  it('that is killed leaves its records to another process with the same data directory', async () => {
    const dataDir = await makeTestFolder('journal');
    const [first, second] = [await spawn(dataDir), await spawn(dataDir)];
    const asked = [await ask(first.url, 'soft', oneWay!), await ask(second.url, 'soft', oneWay!)];
    await proxy.refuse();
    for (const each of asked) expect(await answered(each)).toContain('HTTP/1.1 200');
    first.kill();
    await first.exited;
    await proxy.open();
    for (const each of asked) await expectRows(each);
    await eventually(async () =>
      (await readdir(path.join(dataDir, 'journal'))).length === 0 ? true : undefined,
    );
  });

  it('whose journal cannot be written completes no request while the database is lost', async () => {
    const dataDir = await makeTestFolder('journal');
    await mkdir(dataDir, { recursive: true });
    await writeFile(path.join(dataDir, 'journal'), 'no folder');
    const gateway = await spawn(dataDir);
    const asked = [
      await ask(gateway.url, 'soft', oneWay!),
      await ask(gateway.url, 'free', wayOf(chat, true)),
    ];
    await proxy.refuse();
    for (const each of asked) {
      const text = await answered(each);
      expect(text).not.toContain(each.way.end);
      expect(text).toContain('store_unavailable');
    }
    await eventually(() =>
      gateway.output().includes('the journal could not be written') ? true : undefined,
    );
    // Settlement is tried every two seconds; the failure is logged only once.
    await sleep(4500);
    expect(gateway.output().split('the journal could not be settled')).toHaveLength(2);
  });
});

describe('gateways that are killed while the database is lost and comes back repeatedly', () => {
  /** The number of kills; `TORTURE_KILLS` can raise it. */
  const rounds = Number(process.env['TORTURE_KILLS'] ?? 2);
  const seed = tortureSeed();
  const random = randomFrom(seed);
  let simulated: SimulatedUpstream;
  beforeAll(async () => {
    simulated = await startSimulatedUpstream({ port: 0 });
  });
  afterAll(() => simulated?.close());

  it(
    'leave one ledger row and one log row for every complete answer, and an empty journal',
    async () => {
      const dataDir = await makeTestFolder('journal');
      const file = { ...config(), providers: [{ id: 'up', type: 'compat', base_url: simulated.url }] };
      const outcomes: LoadOutcome[] = [];
      let journaled = 0;
      const isEnough = (): boolean =>
        journaled > 0 && outcomes.filter(({ fate }) => fate === 'complete').length > 10;
      // A busy machine may need more rounds until some requests were journaled.
      for (let round = 0; round < rounds || (!isEnough() && round < rounds + 5); round += 1) {
        const gateway = await spawnGateway(file, proxy.to(database.url()), [], dataDir);
        const { url, kill, exited } = gateway;
        const load = callers(20_000);
        const over = new AbortController();
        const caller = async (): Promise<void> => {
          while (!over.signal.aborted) {
            const simulate = {
              'latency-ms': Math.floor(random() * 150),
              'prompt-tokens': 5,
              'completion-tokens': 7,
            };
            const request = { requestId: randomUUID(), key: keys.soft, stream: random() < 0.5, simulate };
            outcomes.push(await load.send(url, request));
            // Refusals come at once: without a pause this would be a busy loop.
            await sleep(5);
          }
        };
        const all = Array.from({ length: 12 }, caller);
        for (let turn = 0; turn < 3; turn += 1) {
          await sleep(100 + random() * 300);
          await proxy.refuse();
          await sleep(100 + random() * 300);
          if (turn < 2) await proxy.open();
        }
        over.abort();
        kill();
        await exited;
        await Promise.all(all);
        journaled += gateway.output().split('"settled":"journaled"').length - 1;
        load.close();
        await proxy.open();
      }
      const last = await spawnGateway(file, proxy.to(database.url()), [], dataDir);
      await eventually(
        async () => ((await readdir(path.join(dataDir, 'journal'))).length === 0 ? true : undefined),
        20_000,
      );
      last.child.kill('SIGTERM');
      await last.exited;
      const complete = outcomes.filter(({ fate }) => fate === 'complete').map(({ requestId }) => requestId);
      for (const table of ['usage_cost_events', 'request_logs']) {
        const rows = await query<{ request_id: string }>(
          `select request_id from ${table} where request_id = any ($1) order by request_id collate "C"`,
          [complete],
        );
        expect({ seed, rows: rows.map(({ request_id }) => request_id) }).toEqual({
          seed,
          rows: complete.sort(),
        });
      }
      expect(complete.length).toBeGreaterThan(10);
      expect(journaled).toBeGreaterThan(0);
      await expectSums();
    },
    120_000 + rounds * 10_000,
  );
});
