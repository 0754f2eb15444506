// npm run bench:mcp: calls of MCP tools through the gateway compared with a bare proxy, interleaved in one run: the
// time of a call and its CPU, as medians. Each call leaves its record.
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { aKey } from '../test/support/a-key.ts';
import { numbersOf } from '../test/support/given-number.ts';
import { closedLoop, median, post, type Target } from './load.ts';
import { gatewayScript, type Measured, root, start } from './processes.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    requests: { type: 'string', default: '1000' },
    callers: { type: 'string', default: '16' },
  },
});
const { rounds, requests, callers } = numbersOf(values, 'rounds', 'requests', 'callers');

const key = aKey();
const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search', arguments: { query: 'how do the records come behind the answers', limit: 10 } },
});
const out = (line: string): void => void process.stdout.write(`${line}\n`);

interface Side {
  readonly name: string;
  readonly process: Measured;
  readonly target: Target;
  readonly callMs: number[];
  readonly cpuMicros: number[];
}

const folder = await sweptFolder('bench');
const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'data') });
const server = await start([path.join(root, 'bench', 'mcp-server.ts')]);
const config = path.join(folder, 'gateway.yaml');
await writeFile(
  config,
  stringify({
    server: { bind: '127.0.0.1:0' },
    mcp_servers: [{ id: 'bench', url: server.url, allowed_tools: ['search*'] }],
    users: [{ email: 'a@example.com' }],
    api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: key }],
  }),
);
const gateway = await start([gatewayScript, 'serve'], {
  GATEWAY_CONFIG: config,
  DATABASE_URL: database.url,
  GATEWAY_DATA_DIR: folder,
});
const bare = await start([path.join(root, 'bench', 'bare-proxy.mjs'), server.url]);
const accept = 'application/json, text/event-stream';
const side = (name: string, measured: Measured, at: string, headers: Target['headers']): Side => ({
  name,
  process: measured,
  target: { url: measured.url, path: at, headers },
  callMs: [],
  cpuMicros: [],
});
const sides = [
  side('bare proxy', bare, '/mcp', { accept }),
  side('gateway', gateway, '/mcp/bench', { accept, authorization: `Bearer ${key}` }),
];

/** One call after the other over one connection: the time of a call when nothing else is under way. */
async function oneByOne({ target }: Side): Promise<readonly number[]> {
  const pool = new Pool(target.url, { connections: 1 });
  const times: number[] = [];
  for (let n = 0; n < requests / 2; n += 1) {
    const startedAt = performance.now();
    const { status } = await post(pool, target, body);
    if (status !== 200) throw new Error(`status ${status}`);
    times.push(performance.now() - startedAt);
  }
  await pool.close();
  return times;
}

for (const each of sides) await closedLoop(each.target, body, callers, requests);
for (let round = 0; round < rounds; round += 1)
  for (const each of sides) {
    each.callMs.push(median(await oneByOne(each)));
    const before = each.process.cpuMicros();
    await closedLoop(each.target, body, callers, requests);
    each.cpuMicros.push((each.process.cpuMicros() - before) / requests);
  }

const [yardstick, measured] = sides;
for (const { name, callMs, cpuMicros } of sides)
  out(`${name.padEnd(12)} ${median(callMs).toFixed(3)} ms a call, ${median(cpuMicros).toFixed(0)} µs of CPU`);
if (yardstick !== undefined && measured !== undefined) {
  const added = median(measured.callMs) - median(yardstick.callMs);
  const ratio = median(measured.cpuMicros) / median(yardstick.cpuMicros);
  out(`added at the median: ${added.toFixed(3)} ms; ${ratio.toFixed(1)} times the CPU`);
}

await gateway.stop();
await bare.stop();
await server.stop();
await database.stop();
await rm(folder, { recursive: true });
