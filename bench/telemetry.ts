// npm run bench:telemetry: the cost of telemetry per request, compared with the same gateway without it, interleaved in
// one run.
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { aKey } from '../test/support/a-key.ts';
import { numbersOf } from '../test/support/given-number.ts';
import { closedLoop, median, type Target } from './load.ts';
import { startOtlpSink } from './otlp-sink.ts';
import { gatewayScript, type Measured, start, startUpstream } from './processes.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, requests: { type: 'string', default: '2500' } },
});
const { rounds, requests } = numbersOf(values, 'rounds', 'requests');
const callers = 64;
/** What is queued when the load ends is sent within this time: it belongs to the requests of its round. */
const aftermathMs = 2500;

const key = aKey();

interface Variant {
  readonly name: string;
  /** `undefined`: telemetry is off. */
  readonly ratio: number | undefined;
  /** The CPU that it may take, as a multiple of that without telemetry. */
  readonly atMost: number;
}

const variants: readonly Variant[] = [
  { name: 'off', ratio: undefined, atMost: 1 },
  { name: 'metrics, ratio 0', ratio: 0, atMost: 1.1 },
  { name: 'metrics, ratio 0.1', ratio: 0.1, atMost: 1.2 },
  { name: 'metrics, ratio 1', ratio: 1, atMost: 1.8 },
];

const config = (upstreamUrl: string, collectorUrl: string, ratio: number | undefined) => ({
  server: {
    bind: '127.0.0.1:0',
    ...(ratio === undefined
      ? {}
      : { otel_endpoint: collectorUrl, otel_trace_sample_ratio: ratio, otel_export_interval_secs: 1 }),
  },
  providers: [{ id: 'simulated', type: 'compat', base_url: upstreamUrl, auth: { mode: 'none' } }],
  models: [{ id: 'simulated-fast', routes: [{ provider: 'simulated', upstream_model: 'simulated-fast' }] }],
  users: [{ email: 'bench@example.com', name: 'Bench' }],
  api_keys: [{ name: 'bench', owner: 'user:bench@example.com', value: key }],
});

const body = JSON.stringify({
  model: 'simulated-fast',
  messages: [{ role: 'user', content: 'Hello there' }],
});
const headers = { authorization: `Bearer ${key}`, 'x-gateway-service': 'bench', 'x-gateway-env': 'test' };

async function cpuPerRequest({ url, cpuMicros }: Measured): Promise<number> {
  const before = cpuMicros();
  const target: Target = { url, headers };
  await closedLoop(target, body, callers, requests);
  await sleep(aftermathMs);
  return (cpuMicros() - before) / requests;
}

const out = (line: string): void => void process.stdout.write(`${line}\n`);

const folder = await sweptFolder('bench');
const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database') });
const upstream = await startUpstream();
const sink = await startOtlpSink();
const gateways: Measured[] = [];
try {
  for (const [index, { ratio }] of variants.entries()) {
    const file = path.join(folder, `gateway-${index}.yaml`);
    await writeFile(file, stringify(config(upstream.url, sink.url, ratio)));
    gateways.push(
      await start([gatewayScript, 'serve'], {
        GATEWAY_CONFIG: file,
        DATABASE_URL: database.url,
        GATEWAY_DATA_DIR: path.join(folder, `data-${index}`),
      }),
    );
  }
  // Two warm-up rounds, so that compilation is not measured.
  for (let warm = 0; warm < 2; warm += 1) for (const gateway of gateways) await cpuPerRequest(gateway);
  const costs: number[][] = variants.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (let turn = 0; turn < variants.length; turn += 1) {
      const index = (round + turn) % variants.length;
      const gateway = gateways[index];
      if (gateway !== undefined) costs[index]?.push(await cpuPerRequest(gateway));
    }
  const [off = []] = costs;
  out(`small chat, ${callers} callers, ${rounds} rounds of ${requests} requests; medians`);
  for (const [index, { name, atMost }] of variants.entries()) {
    const cost = costs[index] ?? [];
    const ratio = median(cost.map((each, round) => each / (off[round] ?? Number.NaN)));
    out(
      `${name}: ${median(cost).toFixed(0)} µs a request, ${ratio.toFixed(2)} × (at most ${atMost.toFixed(2)} ×)`,
    );
  }
  out(`the collector took ${(sink.bytes() / 1e6).toFixed(1)} MB`);
} finally {
  for (const gateway of gateways) await gateway.stop();
  sink.close();
  await upstream.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
