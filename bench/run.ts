// npm run bench: the gateway beside a bare proxy, interleaved in one run, as medians of ratios.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { closedLoop, median, openLoop, type Target } from './load.ts';
import { type Measured, start } from './processes.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, scale: { type: 'string', default: '1' } },
});
const rounds = Number(values.rounds);
const scale = Number(values.scale);

const root = path.join(import.meta.dirname, '..');
const gatewayScript = path.join(root, 'interfaces', 'cli', 'gateway.mjs');
const key = `gwk_${randomBytes(16).toString('hex')}.${randomBytes(32).toString('hex')}`;

/** A hard budget that is checked at each request and never reached. */
const config = (upstreamUrl: string) => ({
  server: { bind: '127.0.0.1:0' },
  providers: [{ id: 'simulated', type: 'compat', base_url: upstreamUrl, auth: { mode: 'none' } }],
  models: [
    { id: 'simulated-fast', routes: [{ provider: 'simulated', upstream_model: 'simulated-fast' }] },
    { id: 'paced', routes: [{ provider: 'simulated', upstream_model: pacedModel }] },
  ],
  users: [
    {
      email: 'bench@example.com',
      name: 'Bench',
      budget: { cadence: 'monthly', amount_10000: 9007199254740991, hard_limit: true },
    },
  ],
  api_keys: [{ name: 'bench', owner: 'user:bench@example.com', value: key }],
});

const small = JSON.stringify({
  model: 'simulated-fast',
  messages: [{ role: 'user', content: 'Hello there' }],
});
const large = JSON.stringify({
  model: 'simulated-fast',
  messages: Array.from({ length: 50 }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: `${turn} ${'lorem ipsum "dolor" sit amet\n'.repeat(70)}`,
  })),
});
const chunks = 50;
const stream = (more: object): string =>
  JSON.stringify({
    model: 'simulated-fast',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'Hello there' }],
    simulate: { chunks, ...more },
  });
/** Deltas come apart, as tokens do: each is a chunk of its own on the wire. */
const paced = stream({ 'chunk-delay-ms': 20 });

/** The same small conversation and its like in the words of the messages family. */
const smallMessages = JSON.stringify({
  model: 'simulated-fast',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello there' }],
});
const largeMessages = JSON.stringify({ ...(JSON.parse(large) as object), max_tokens: 100 });
/** The model of this name answers in paced chunks. */
const pacedModel = `simulated-fast?chunks=${chunks}&chunk-delay-ms=20`;
const pacedChat = JSON.stringify({
  model: 'paced',
  stream: true,
  messages: [{ role: 'user', content: 'Hello there' }],
});
const pacedMessages = JSON.stringify({ ...(JSON.parse(pacedChat) as object), max_tokens: 100 });

interface Scenario {
  readonly name: string;
  /** What the CPU is divided by. */
  readonly units: number;
  readonly run: (target: Target) => Promise<void>;
}

const smallChats = (callers: number): Scenario => ({
  name: `small chat, ${callers} callers: CPU per request`,
  units: 10_000 * scale,
  run: (to) => closedLoop(to, small, callers, 10_000 * scale),
});

const scenarios: readonly Scenario[] = [
  smallChats(64),
  smallChats(400),
  {
    name: '100 KB chat, 32 callers: CPU per request',
    units: 1000 * scale,
    run: (to) => closedLoop(to, large, 32, 1000 * scale),
  },
  {
    name: 'paced streams, 100 at once: CPU per chunk',
    units: 400 * scale * chunks,
    run: (to) => closedLoop(to, paced, 100, 400 * scale),
  },
];

/** The same answer in two families, both from the gateway. */
interface Pair {
  readonly name: string;
  readonly units: number;
  readonly callers: number;
  readonly requests: number;
  readonly chat: string;
  readonly messages: string;
}

const pairs: readonly Pair[] = [
  {
    name: 'small answer',
    units: 5000 * scale,
    callers: 64,
    requests: 5000 * scale,
    chat: small,
    messages: smallMessages,
  },
  {
    name: 'answer to 100 KB',
    units: 1000 * scale,
    callers: 32,
    requests: 1000 * scale,
    chat: large,
    messages: largeMessages,
  },
  {
    name: 'paced streams',
    units: 400 * scale * chunks,
    callers: 100,
    requests: 400 * scale,
    chat: pacedChat,
    messages: pacedMessages,
  },
];

async function cpuOf(process: Measured, units: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuMicros();
  await work();
  return (process.cpuMicros() - before) / units;
}

const out = (line: string): void => void globalThis.process.stdout.write(`${line}\n`);

const folder = await mkdtemp(path.join(tmpdir(), 'gateway-bench-'));
const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database') });
const upstream = await start([gatewayScript, 'simulate-upstream', '--port', '0']);
const configFile = path.join(folder, 'gateway.yaml');
await writeFile(configFile, stringify(config(upstream.url)));
const gateway = await start(['--max-semi-space-size=64', gatewayScript, 'serve'], {
  GATEWAY_CONFIG: configFile,
  DATABASE_URL: database.url,
});
const bare = await start([path.join(root, 'bench', 'bare-proxy.ts'), upstream.url]);

const toGateway: Target = { url: gateway.url, headers: { authorization: `Bearer ${key}` } };
const toMessages: Target = { ...toGateway, path: '/v1/messages' };
const toBare: Target = { url: bare.url, headers: {} };
try {
  for (const scenario of scenarios) {
    // Twice for warmth: compiling is not what is measured.
    for (let warm = 0; warm < 2; warm += 1) {
      await scenario.run(toBare);
      await scenario.run(toGateway);
    }
    const ratios: number[] = [];
    const units: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const plain = await cpuOf(bare, scenario.units, () => scenario.run(toBare));
      const full = await cpuOf(gateway, scenario.units, () => scenario.run(toGateway));
      ratios.push(full / plain);
      units.push(plain);
    }
    out(
      `${scenario.name}: ${median(ratios).toFixed(2)} × the bare proxy (whose own is ${median(units).toFixed(0)} µs)`,
    );
  }
  for (const { name, units, callers, requests, chat, messages } of pairs) {
    const inChat = () => closedLoop(toGateway, chat, callers, requests);
    const inMessages = () => closedLoop(toMessages, messages, callers, requests);
    await inChat();
    await inMessages();
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const plain = await cpuOf(gateway, units, inChat);
      ratios.push((await cpuOf(gateway, units, inMessages)) / plain);
    }
    out(`${name}: /v1/messages costs ${median(ratios).toFixed(2)} × /v1/chat/completions`);
  }
  const added: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const plain = median(await openLoop(toBare, stream({}), 100, 3));
    const full = median(await openLoop(toGateway, stream({}), 100, 3));
    added.push(full - plain);
  }
  out(`added time to the first token at 100 streams a second: ${median(added).toFixed(2)} ms at the median`);
} finally {
  await gateway.stop();
  await bare.stop();
  await upstream.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
