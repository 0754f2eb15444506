// npm run bench:limits: one owner with rate limits compared with one without, interleaved in one run: requests per
// second, and CPU of the database and of the gateway per request, as medians.
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { aKey } from '../test/support/a-key.ts';
import { numbersOf } from '../test/support/given-number.ts';
import { closedLoop, median, type Target } from './load.ts';
import { databaseMicros, gatewayScript, start, startUpstream } from './processes.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    requests: { type: 'string', default: '6000' },
    callers: { type: 'string', default: '200' },
  },
});
const { rounds, requests, callers } = numbersOf(values, 'rounds', 'requests', 'callers');

/** Limits that are counted at each request and never reached. */
const most = Number.MAX_SAFE_INTEGER;
const kinds = {
  none: undefined,
  requests: { requests_per_minute: most },
  tokens: { tokens_per_minute: most },
  in_flight: { requests_in_flight: most },
  all: { requests_per_minute: most, tokens_per_minute: most, requests_in_flight: most },
} as const;

const owners = Object.entries(kinds).map(([name, limits]) => ({
  name,
  limits,
  email: `${name}@example.com`,
  key: aKey(),
}));

const config = (upstreamUrl: string) => ({
  server: { bind: '127.0.0.1:0' },
  providers: [{ id: 'simulated', type: 'compat', base_url: upstreamUrl, auth: { mode: 'none' } }],
  models: [{ id: 'fast', routes: [{ provider: 'simulated', upstream_model: 'simulated-fast' }] }],
  users: owners.map(({ name, email, limits }) => ({
    email,
    name,
    ...(limits === undefined ? {} : { limits }),
  })),
  api_keys: owners.map(({ name, email, key }) => ({ name, owner: `user:${email}`, value: key })),
});

const body = JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello there' }] });

const out = (line: string): void => void process.stdout.write(`${line}\n`);

const folder = await sweptFolder('bench');
const dataDir = path.join(folder, 'database');
const database = await startEmbeddedPostgres({ dataDir });
const databaseCpu = databaseMicros(dataDir);
const upstream = await startUpstream();
const configFile = path.join(folder, 'gateway.yaml');
await writeFile(configFile, stringify(config(upstream.url)));
const gateway = await start([gatewayScript, 'serve'], {
  GATEWAY_CONFIG: configFile,
  DATABASE_URL: database.url,
});

interface Round {
  readonly perSecond: number;
  readonly databaseMicros: number;
  readonly gatewayMicros: number;
}

async function measured(key: string): Promise<Round> {
  const target: Target = { url: gateway.url, headers: { authorization: `Bearer ${key}` } };
  const before = { database: databaseCpu(), gateway: gateway.cpuMicros(), at: performance.now() };
  await closedLoop(target, body, callers, requests);
  return {
    perSecond: (requests * 1000) / (performance.now() - before.at),
    databaseMicros: (databaseCpu() - before.database) / requests,
    gatewayMicros: (gateway.cpuMicros() - before.gateway) / requests,
  };
}

try {
  const found = new Map<string, Round[]>(owners.map(({ name }) => [name, []]));
  // The first round is a warm-up, so that compilation is not measured.
  for (let round = 0; round <= rounds; round += 1)
    for (const { name, key } of owners) {
      const one = await measured(key);
      if (round > 0) found.get(name)?.push(one);
    }
  const none = found.get('none') ?? [];
  for (const [name, all] of found) {
    const shown = (of: keyof Round, unit: string): string => {
      const ratios = all.map((one, round) => one[of] / (none[round]?.[of] ?? Number.NaN));
      return `${median(all.map((one) => one[of])).toFixed(0)} ${unit} (${median(ratios).toFixed(2)} ×)`;
    };
    out(
      `${name}: ${shown('perSecond', 'requests/s')}, database ${shown('databaseMicros', 'µs')}, ` +
        `gateway ${shown('gatewayMicros', 'µs')}`,
    );
  }
} finally {
  await gateway.stop();
  await upstream.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
