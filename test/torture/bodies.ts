/**
 * `node test/torture/bodies.ts [NAME…]`: sends the worst-case bodies that are admitted by default, in every
 * family and on routes that pass through, translate and sign, and measures for each how long `/healthz`
 * waits: the longest stall of the event loop that one admitted request causes. Redaction is on. Then it sends
 * the largest answers, eight bodies at once, and the worst-case MCP messages of callers and of servers. With
 * NAMEs it runs only bodies whose names contain one of them. The machine must be otherwise idle: the delay of
 * a timer in the drill itself shows whether it was.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { start } from '../../bench/processes.ts';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { type McpExchange, mcpAnswer, mcpInitialize, mcpRequest, valueNames } from './worst-messages.ts';
import { bodiesConfig, families, largeAnswers, shapes } from './worst-bodies.ts';
import { aKey } from '../support/a-key.ts';
import { sweptFolder } from '../support/swept-folder.ts';

/** The longest time for which an admitted request may delay others. */
const maxStallMs = 250;
/** The pause between two probes: short compared with the limit, and without load. */
const lookMs = 5;
const payloadMs = 1500;

const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** Callers and upstream run in a separate process, so that the measuring process does nothing else. */
interface Send {
  readonly url: string;
  readonly key: string;
  readonly times: number;
  readonly what: ModelBody | McpMessage;
}
interface ModelBody {
  readonly family: keyof typeof families;
  readonly shape: keyof typeof shapes;
  readonly model: string;
}
interface McpMessage {
  readonly path: '/mcp' | '/mcp/tools';
  readonly ask: McpExchange;
}
interface Sent {
  readonly status: number;
  readonly head: string;
  /** The session id of an MCP server. */
  readonly session: string;
}

const agent = new Agent({ keepAlive: true });

const post = (url: string, key: string, body: Buffer, session = ''): Promise<Sent> =>
  new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
      accept: 'application/json, text/event-stream',
      ...(session === '' ? {} : { 'mcp-session-id': session }),
    };
    const req = request(url, { method: 'POST', agent, headers }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk.toString()));
      res.on('end', () => {
        const given = res.headers['mcp-session-id'];
        const session = typeof given === 'string' ? given : '';
        resolve({ status: res.statusCode ?? 0, head: text.slice(0, 200), session });
      });
    });
    req.once('error', reject);
    req.end(body);
  });

async function serveTheOthers(): Promise<void> {
  const upstream = createServer((req, res) => {
    let begin = '';
    req.on('data', (chunk: Buffer) => {
      if (begin.length < 300) begin += chunk.toString();
    });
    req.once('end', () => {
      const family = Object.values(families).find(({ upstreamPath }) => upstreamPath.test(req.url ?? ''));
      res.setHeader('content-type', 'application/json');
      if (req.url === '/mcp') return answered(res, mcpAnswer(begin.slice(0, 300)));
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

/** A message that is not a request is accepted without an answer. */
function answered(res: ServerResponse, answer: string | undefined): void {
  res.statusCode = answer === undefined ? 202 : 200;
  res.end(answer);
}

async function sendAll({ url, key, what, times }: Send): Promise<void> {
  const [to, body] =
    'ask' in what
      ? [what.path, mcpRequest(what.ask)]
      : [families[what.family].path, families[what.family].body(what.model, shapes[what.shape])];
  const text = Buffer.from(body);
  // The union of all servers requires a session.
  const session = to === '/mcp' ? (await post(`${url}${to}`, key, Buffer.from(mcpInitialize))).session : '';
  const sent = await Promise.all(
    Array.from({ length: times }, () => post(`${url}${to}`, key, text, session)),
  );
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
    out(
      `longest stall: ${worst.stallMs.toFixed(0)} ms, bound ${maxStallMs} ms; ` +
        `a timer of the drill itself came ${worst.lateMs.toFixed(0)} ms late at most`,
    );
    if (worst.stallMs >= maxStallMs) process.exitCode = 1;
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

/** Runs all bodies against a gateway; returns the longest waits. */
async function against(upstreamUrl: string, { folder, databaseUrl, others, names }: Scene): Promise<Looked> {
  const key = aKey();
  const configFile = path.join(folder, 'gateway.yaml');
  const { config, models } = bodiesConfig(upstreamUrl, key);
  await writeFile(configFile, stringify(config));
  const cli = path.join(import.meta.dirname, '..', '..', 'interfaces', 'cli', 'gateway.mjs');
  const variables = { GATEWAY_CONFIG: configFile, DATABASE_URL: databaseUrl, GATEWAY_DATA_DIR: folder };
  const gateway = await start([cli, 'serve'], variables);
  let worst: Looked | undefined;
  const tried = async (name: string, what: Send['what'], times = 1): Promise<void> => {
    if (names.length > 0 && !names.some((each) => name.includes(each))) return;
    const looking = lookAt(`${gateway.url}/healthz`);
    others.send({ url: gateway.url, key, what, times } satisfies Send);
    const [{ bytes, sent }] = (await once(others, 'message')) as [{ bytes: number; sent: readonly Sent[] }];
    // Payloads are created after the answer.
    await sleep(payloadMs);
    const { stallMs, lateMs } = await looking.stop();
    worst = {
      stallMs: Math.max(worst?.stallMs ?? 0, stallMs),
      lateMs: Math.max(worst?.lateMs ?? 0, lateMs),
    };
    const statuses = sent.map(({ status }) => status).join(' ');
    const refusal = sent.find(({ status }) => status !== 200)?.head ?? '';
    out(
      `${name.padEnd(52)} ${mebibytes(bytes)}  /healthz ${stallMs.toFixed(0).padStart(4)} ms  ${statuses} ${refusal}`,
    );
  };
  try {
    for (const family of Object.keys(families) as ModelBody['family'][])
      for (const model of models)
        for (const shape of Object.keys(shapes) as ModelBody['shape'][])
          if ((families[family].models as readonly string[]).includes(model))
            await tried(`${family} ${model}: ${shape}`, { family, shape, model });
    for (const model of Object.keys(largeAnswers).map((at) => at.slice(1)))
      await tried(`answer: ${model}`, { family: 'embeddings', shape: 'nothing else', model });
    for (const shape of ['empty objects over the bound', 'numbers'] as const)
      await tried(`eight at once: ${shape}`, { family: 'chat', shape, model: 'compat' }, 8);
    await messages(tried);
    if (worst === undefined) throw new Error(`No body has ${names.join(' or ')} in its name.`);
    out(`memory at its highest: ${(gateway.peakKib() / 1024).toFixed(0)} MiB`);
    return worst;
  } finally {
    await gateway.stop();
  }
}

/** MCP messages: arguments, results and the list of tools, of one server and of the union. */
async function messages(tried: (name: string, what: McpMessage) => Promise<void>): Promise<void> {
  for (const value of valueNames) {
    await tried(`mcp arguments: ${value}`, { path: '/mcp/tools', ask: { kind: 'arguments', value } });
    await tried(`mcp result: ${value}`, { path: '/mcp/tools', ask: { kind: 'result', value } });
  }
  await tried('mcp list of tools', { path: '/mcp/tools', ask: { kind: 'list' } });
  await tried('mcp list of tools, of all servers', { path: '/mcp', ask: { kind: 'list' } });
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1).padStart(5)} MiB`;

interface Looked {
  /** The longest wait for an answer. */
  readonly stallMs: number;
  /** The longest delay of a timer between two probes, which is caused by the machine, not by the gateway. */
  readonly lateMs: number;
}

/** Sends one request after the other until it is stopped. */
function lookAt(url: string): { readonly stop: () => Promise<Looked> } {
  const over = new AbortController();
  const looking = (async () => {
    let stallMs = 0;
    let lateMs = 0;
    while (!over.signal.aborted) {
      const from = performance.now();
      await new Promise<void>((resolve, reject) => {
        request(url, { agent }, (res) => res.resume().once('end', resolve))
          .once('error', reject)
          .end();
      });
      const at = performance.now();
      stallMs = Math.max(stallMs, at - from);
      await sleep(lookMs);
      lateMs = Math.max(lateMs, performance.now() - at - lookMs);
    }
    return { stallMs, lateMs };
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
