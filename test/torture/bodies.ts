/**
 * `node test/torture/bodies.ts [NAME…]`: the worst bodies that are admitted by default, in every family and on routes
 * that pass on, translate and sign, and beside each of them how long `/healthz` had to wait: the longest stall of the
 * event loop that one admitted request causes. Redaction is on. Then the largest answers, and eight bodies at once.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { start } from '../../bench/processes.ts';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { sweptFolder } from '../support/swept-folder.ts';
import { bodiesConfig, families, largeAnswers, shapes } from './worst-bodies.ts';

/** What an admitted request may hold up the others for. */
const maxStallMs = 250;
/** Between two looks: short beside the bound, and no load. */
const lookMs = 5;
const payloadMs = 1500;

const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** Callers and upstream in a process of their own, so that the one that looks at the clock does nothing else. */
interface Send {
  readonly url: string;
  readonly key: string;
  readonly family: keyof typeof families;
  readonly shape: keyof typeof shapes;
  readonly model: string;
  readonly times: number;
}
type Sent = readonly { readonly status: number; readonly head: string }[];

const agent = new Agent({ keepAlive: true });

const post = (url: string, key: string, body: Buffer): Promise<Sent[number]> =>
  new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    };
    const req = request(url, { method: 'POST', agent, headers }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk.toString()));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, head: text.slice(0, 200) }));
    });
    req.once('error', reject);
    req.end(body);
  });

async function serveTheOthers(): Promise<void> {
  const upstream = createServer((req, res) => {
    req.resume();
    req.once('end', () => {
      const family = Object.values(families).find(({ upstreamPath }) => upstreamPath.test(req.url ?? ''));
      res.setHeader('content-type', 'application/json');
      const large = Object.entries(largeAnswers).find(([at]) => req.url?.startsWith(`${at}/`));
      if (large !== undefined) return void res.end(large[1]());
      res.end(JSON.stringify(family?.answer ?? {}));
    });
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const address = upstream.address();
  process.once('disconnect', () => process.exit());
  process.on('message', (order: Send) => void sendAll(order));
  process.send?.(typeof address === 'object' ? address?.port : 0);
}

async function sendAll({ url, key, family, shape, model, times }: Send): Promise<void> {
  const { path: to, body } = families[family];
  const text = Buffer.from(body(model, shapes[shape]));
  const sent = await Promise.all(Array.from({ length: times }, () => post(`${url}${to}`, key, text)));
  process.send?.({ bytes: text.length, sent });
}

async function main(names: readonly string[]): Promise<void> {
  const others = fork(import.meta.filename, ['--others']);
  const folder = await sweptFolder('bodies');
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database'), testing: true });
  try {
    const [port] = (await once(others, 'message')) as [number];
    const worst = await against(`http://127.0.0.1:${port}`, {
      folder,
      databaseUrl: postgres.url,
      others,
      names,
    });
    out(`longest stall: ${worst.toFixed(0)} ms, bound ${maxStallMs} ms`);
    if (worst >= maxStallMs) process.exitCode = 1;
  } finally {
    others.kill();
    await postgres.stop();
    await rm(folder, { recursive: true });
  }
}

interface Scene {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly others: ChildProcess;
  readonly names: readonly string[];
}

/** The longest wait of all. */
async function against(upstreamUrl: string, { folder, databaseUrl, others, names }: Scene): Promise<number> {
  const key = `gwk_${randomBytes(16).toString('hex')}.${randomBytes(32).toString('hex')}`;
  const configFile = path.join(folder, 'gateway.yaml');
  const { config, models } = bodiesConfig(upstreamUrl, key);
  await writeFile(configFile, stringify(config));
  const cli = path.join(import.meta.dirname, '..', '..', 'interfaces', 'cli', 'gateway.mjs');
  const variables = { GATEWAY_CONFIG: configFile, DATABASE_URL: databaseUrl, GATEWAY_DATA_DIR: folder };
  const gateway = await start([cli, 'serve'], variables);
  let worst = 0;
  const tried = async (name: string, order: Omit<Send, 'url' | 'key'>): Promise<void> => {
    if (names.length > 0 && !names.some((each) => name.includes(each))) return;
    const looking = lookAt(`${gateway.url}/healthz`);
    others.send({ url: gateway.url, key, ...order } satisfies Send);
    const [{ bytes, sent }] = (await once(others, 'message')) as [{ bytes: number; sent: Sent }];
    // Payloads are made behind the answer.
    await sleep(payloadMs);
    const stallMs = await looking.stop();
    worst = Math.max(worst, stallMs);
    const statuses = sent.map(({ status }) => status).join(' ');
    const refusal = sent.find(({ status }) => status !== 200)?.head ?? '';
    out(
      `${name.padEnd(52)} ${mebibytes(bytes)}  /healthz ${stallMs.toFixed(0).padStart(4)} ms  ${statuses} ${refusal}`,
    );
  };
  try {
    for (const family of Object.keys(families) as Send['family'][])
      for (const model of models)
        for (const shape of Object.keys(shapes) as Send['shape'][])
          if ((families[family].models as readonly string[]).includes(model))
            await tried(`${family} ${model}: ${shape}`, { family, shape, model, times: 1 });
    for (const model of Object.keys(largeAnswers).map((at) => at.slice(1)))
      await tried(`answer: ${model}`, { family: 'embeddings', shape: 'nothing else', model, times: 1 });
    for (const shape of ['empty objects over the bound', 'numbers'] as const)
      await tried(`eight at once: ${shape}`, { family: 'chat', shape, model: 'compat', times: 8 });
    out(`memory at its highest: ${(gateway.peakKib() / 1024).toFixed(0)} MiB`);
    return worst;
  } finally {
    await gateway.stop();
  }
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1).padStart(5)} MiB`;

/** Asks again and again, one after the other, and keeps the longest wait. */
function lookAt(url: string): { readonly stop: () => Promise<number> } {
  const over = new AbortController();
  const looking = (async () => {
    let longest = 0;
    while (!over.signal.aborted) {
      const from = performance.now();
      await new Promise<void>((resolve, reject) => {
        request(url, { agent }, (res) => res.resume().once('end', resolve))
          .once('error', reject)
          .end();
      });
      longest = Math.max(longest, performance.now() - from);
      await sleep(lookMs);
    }
    return longest;
  })();
  return {
    stop: () => {
      over.abort();
      return looking;
    },
  };
}

if (process.argv[2] === '--others') await serveTheOthers();
else await main(process.argv.slice(2));
