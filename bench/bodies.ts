// node bench/bodies.ts: what bodies of each size cost the process, as multiples of a bare proxy, interleaved in one run.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { agentBody } from './agent-body.ts';
import { closedLoop, median, type Target } from './load.ts';
import { type Measured, start } from './processes.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    /** Parts of the names of scenarios and profiles; all others are left out. */
    only: { type: 'string', default: '' },
    profile: { type: 'string', default: '' },
    /** A folder: the processes of the gateways leave their CPU profiles there. */
    'cpu-prof': { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const scale = Number(values.scale);

const root = path.join(import.meta.dirname, '..');
const gatewayScript = path.join(root, 'interfaces', 'cli', 'gateway.mjs');
const key = `gwk_${randomBytes(16).toString('hex')}.${randomBytes(32).toString('hex')}`;

/** `pass-through`: no budget and no log. `full`: a hard budget that is never reached, and redacted payloads. */
const profiles = ['pass-through', 'full'] as const;
type Profile = (typeof profiles)[number];

const hardBudget = { cadence: 'monthly', amount_10000: 9007199254740991, hard_limit: true };
const config = (profile: Profile, upstreamUrl: string) => ({
  server: { bind: '127.0.0.1:0' },
  request_logging: {
    payloads: { capture_mode: profile === 'full' ? 'redacted_payloads' : 'disabled' },
  },
  providers: [
    {
      id: 'simulated',
      type: 'compat',
      base_url: upstreamUrl,
      auth: { mode: 'bearer', token: randomBytes(24).toString('hex') },
    },
  ],
  models: [{ id: 'fast', routes: [{ provider: 'simulated', upstream_model: 'simulated-fast' }] }],
  users: [
    { email: 'bench@example.com', name: 'Bench', ...(profile === 'full' ? { budget: hardBudget } : {}) },
  ],
  api_keys: [{ name: 'bench', owner: 'user:bench@example.com', value: key }],
});

const small = { messages: [{ role: 'user', content: 'Hello there' }] };
const chunks = 50;
/** Deltas come apart, as tokens do: each is a chunk of its own on the wire. */
const paced = {
  ...small,
  stream: true,
  stream_options: { include_usage: true },
  simulate: { chunks, 'chunk-delay-ms': 20 },
};

interface Scenario {
  readonly name: string;
  readonly body: object;
  readonly callers: number;
  readonly requests: number;
  /** What the CPU is divided by, for each request. */
  readonly units: number;
}

const scenarios: readonly Scenario[] = [
  { name: 'small', body: small, callers: 32, requests: 4000 * scale, units: 1 },
  { name: '100 KB', body: agentBody(100_000), callers: 8, requests: 600 * scale, units: 1 },
  { name: '1 MB', body: agentBody(1_000_000), callers: 4, requests: 80 * scale, units: 1 },
  { name: 'frame', body: paced, callers: 100, requests: 200 * scale, units: chunks },
].filter(({ name }) => name.includes(values.only));

const out = (line: string): void => void process.stdout.write(`${line}\n`);

const folder = await mkdtemp(path.join(tmpdir(), 'gateway-bodies-'));
const upstream = await start([gatewayScript, 'simulate-upstream', '--port', '0']);
const bare = await start([path.join(root, 'bench', 'bare-proxy.ts'), upstream.url]);
const ends: (() => Promise<void>)[] = [];

async function gatewayOf(profile: Profile): Promise<Measured> {
  const database = await startEmbeddedPostgres({ dataDir: path.join(folder, profile) });
  ends.push(() => database.stop());
  const configFile = path.join(folder, `${profile}.yaml`);
  await writeFile(configFile, stringify(config(profile, upstream.url)));
  const profiled =
    values['cpu-prof'] === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values['cpu-prof']}/${profile}`];
  return start(['--max-semi-space-size=64', ...profiled, gatewayScript, 'serve'], {
    GATEWAY_CONFIG: configFile,
    DATABASE_URL: database.url,
  });
}

interface Side {
  readonly name: string;
  readonly process: Measured;
  readonly target: Target;
  readonly model: string;
}

const sides: Side[] = [
  { name: 'bare', process: bare, target: { url: bare.url, headers: {} }, model: 'simulated-fast' },
];
for (const profile of profiles.filter((each) => each.includes(values.profile))) {
  const process = await gatewayOf(profile);
  const target = { url: process.url, headers: { authorization: `Bearer ${key}` } };
  sides.push({ name: profile, process, target, model: 'fast' });
}

async function cpuOf({ process, target, model }: Side, scenario: Scenario): Promise<number> {
  const { body, callers, requests, units } = scenario;
  const before = process.cpuMicros();
  await closedLoop(target, JSON.stringify({ model, ...body }), callers, requests);
  return (process.cpuMicros() - before) / (requests * units);
}

try {
  for (const scenario of scenarios) {
    const micros = new Map(sides.map(({ name }): [string, number[]] => [name, []]));
    // The first two rounds are for warmth: compiling is not what is measured.
    for (let round = -2; round < rounds; round += 1)
      for (const side of sides) {
        const each = await cpuOf(side, scenario);
        if (round >= 0) micros.get(side.name)?.push(each);
      }
    const plain = micros.get('bare') ?? [];
    out(
      sides
        .map(({ name }) => {
          const own = micros.get(name) ?? [];
          const ratio = median(own.map((each, round) => each / (plain[round] ?? Number.NaN)));
          return name === 'bare'
            ? `${scenario.name}: bare ${median(own).toFixed(0)} µs`
            : `${name} ${ratio.toFixed(2)} × (${median(own).toFixed(0)} µs)`;
        })
        .join(', '),
    );
  }
} finally {
  for (const { process } of sides.toReversed()) await process.stop();
  await upstream.stop();
  for (const end of ends) await end();
  await rm(folder, { recursive: true, force: true });
}
