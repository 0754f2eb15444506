// npm run bench:ledger: admission and settlement alone, beside the whole of a bare proxy, as ratios of CPU per request.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import { Client } from 'pg';
import type { SettlementRecord } from '../application/ports/ledger.ts';
import type { Caller } from '../domain/identity/caller.ts';
import { usageCost } from '../domain/ledger/usage-cost-event.ts';
import { agentHarness } from '../domain/request-log/agent-harness.ts';
import { noTags } from '../domain/request-log/caller-tags.ts';
import { logMetadata } from '../domain/request-log/request-log.ts';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { ledgerStore } from '../infrastructure/postgres/ledger-store.ts';
import { migrate } from '../infrastructure/postgres/migrate.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { closedLoop, median } from './load.ts';
import { start } from './processes.ts';

const concurrent = 200;
const requests = 20_000;
const rounds = 5;
const owners = 50;

const root = path.join(import.meta.dirname, '..');
const folder = await mkdtemp(path.join(tmpdir(), 'gateway-bench-'));
const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database') });
await migrate(database.url, path.join(root, 'migrations'));
const pool = await openPool(database.url, 10);
const ledger = ledgerStore(pool, {
  closeOnBlock: () => false,
  mailReady: () => false,
  journal: async () => false,
  claimSeconds: () => 60,
  onFault: (fault) => void process.stderr.write(`${fault}\n`),
});

/** Users with a hard budget that is checked at each request and never reached. */
async function users(): Promise<readonly Caller[]> {
  const client = new Client(database.url);
  await client.connect();
  const made: Caller[] = [];
  for (let index = 0; index < owners; index += 1) {
    const { rows } = await client.query<{ user_id: string }>(
      `insert into users (email, name) values ($1, 'U') returning user_id`,
      [`u${index}@example.com`],
    );
    const userId = rows[0]?.user_id ?? '';
    await client.query(
      `select gateway_set_budget($1, null, 'monthly', 9007199254740991, true, 'UTC', false, false)`,
      [userId],
    );
    const keyOwner = { kind: 'user', userId, requestLoggingEnabled: true } as const;
    made.push({ apiKeyId: randomUUID(), keyOwner, allowedModels: [] });
  }
  await client.end();
  return made;
}

const policy = {
  captureMode: 'summary_only',
  requestMaxBytes: 65_536,
  responseMaxBytes: 65_536,
  streamMaxEvents: 128,
} as const;
const usage = { promptTokens: 20, completionTokens: 30, totalTokens: 50 };
const cost = usageCost(usage, { input: 150_000n, output: 600_000n, source: 'bench' });

function recordOf(caller: Caller, id: string): SettlementRecord {
  const model = { modelKey: 'fast', providerKey: 'simulated' };
  const attempt = { ...model, attemptNumber: 1, upstreamModel: 'simulated-fast', status: 'success' } as const;
  const times = { startedAt: Date.now(), completedAt: Date.now() };
  return {
    charge: { requestLogId: id, requestId: id, caller, ...model, upstreamModel: 'simulated-fast', cost },
    logged: {
      caller,
      blockedCostUsd: '0.000021',
      log: {
        requestLogId: id,
        requestId: id,
        ...model,
        resolvedModelKey: 'fast',
        statusCode: 200,
        errorCode: undefined,
        latencyMs: 5,
        usage,
        exposedToolCount: 0,
        invokedToolCount: 0,
        tags: noTags,
        userAgent: 'OpenAI/JS 7.55.0',
        harness: agentHarness('OpenAI/JS 7.55.0'),
        metadata: logMetadata('chat_completions', false, policy, undefined),
        attempts: [
          {
            ...attempt,
            statusCode: 200,
            errorCode: undefined,
            errorDetail: undefined,
            stream: false,
            ...times,
          },
        ],
      },
    },
    release: undefined,
    deferrableTo: undefined,
  };
}

async function admitAndSettle(callers: readonly Caller[]): Promise<void> {
  let left = requests;
  const caller = async (): Promise<void> => {
    for (let at = left--; at > 0; at = left--) {
      const payer = callers[at % callers.length];
      if (payer === undefined) return;
      const id = randomUUID();
      const ask = {
        requestLogId: id,
        requestId: id,
        callerChoseRequestId: false,
        caller: payer,
        claim: false,
      };
      if (E.isLeft(await ledger.admit(ask))) throw new Error('not admitted');
      if (E.isLeft(await ledger.settle(recordOf(payer, id)))) throw new Error('not settled');
    }
  };
  await Promise.all(Array.from({ length: concurrent }, caller));
}

const gateway = path.join(root, 'interfaces', 'cli', 'gateway.mjs');
const upstream = await start([gateway, 'simulate-upstream', '--port', '0']);
const bare = await start([path.join(root, 'bench', 'bare-proxy.ts'), upstream.url]);
const body = JSON.stringify({
  model: 'simulated-fast',
  messages: [{ role: 'user', content: 'Hello there' }],
});
try {
  const callers = await users();
  const proxied = () => closedLoop({ url: bare.url, headers: {} }, body, concurrent, requests);
  await proxied();
  await admitAndSettle(callers);
  const ratios: number[] = [];
  const own: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = bare.cpuMicros();
    await proxied();
    const plain = (bare.cpuMicros() - before) / requests;
    const from = process.cpuUsage();
    await admitAndSettle(callers);
    const { user, system } = process.cpuUsage(from);
    own.push((user + system) / requests);
    ratios.push((user + system) / requests / plain);
  }
  process.stdout.write(
    `admission and settlement at ${concurrent} concurrent requests: ${median(own).toFixed(0)} µs of CPU per request in the process, ${median(ratios).toFixed(2)} × the bare proxy\n`,
  );
} finally {
  await pool.end();
  await bare.stop();
  await upstream.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
