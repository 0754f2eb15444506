import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { blocksOf } from './deploying.ts';
import { root } from './files.ts';

// `npm run check:tarball`: packs the gateway, installs the tarball into an empty folder and runs there the
// commands of docs/deploying.md under "A package", up to responses. It needs npm's registry or a cache of it.

const folder = await mkdtemp(path.join(tmpdir(), 'gateway-tarball-'));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const children = new Set<ChildProcess>();

const ofThisRun = /^(?:GATEWAY_|DATABASE_URL$|INIT_CWD$|npm_(?!config_(?:registry|cache|cafile)$))/i;
const isOfClone = (folder: string): boolean => folder.startsWith(`${root}${path.sep}`);

/** The environment of shells: no variables of the gateway, and nothing from the clone and its npm. */
const variables: Record<string, string | undefined> = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofThisRun.test(name))),
  PATH: process.env['PATH']
    ?.split(path.delimiter)
    .filter((folder) => !isOfClone(folder))
    .join(path.delimiter),
  GATEWAY_BIND: '127.0.0.1:0',
};

interface Started {
  readonly out: () => string;
  readonly ended: Promise<unknown>;
  readonly child: ChildProcess;
}

function start(line: string, cwd = folder): Started {
  const child = spawn('sh', ['-c', `exec ${line}`], { cwd, env: variables });
  children.add(child);
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => void (out += chunk.toString()));
  return { child, out: () => out, ended: once(child, 'close') };
}

async function run(line: string, cwd = folder): Promise<string> {
  const from = performance.now();
  const { child, out, ended } = start(line, cwd);
  await ended;
  if (child.exitCode !== 0) throw new Error(`${line} ended with ${child.exitCode}:\n${out()}`);
  say(`✓ ${line} (${((performance.now() - from) / 1000).toFixed(1)} s)`);
  return out();
}

/** Waits for matching output of a command, for at most two minutes. */
async function says({ child, out }: Started, pattern: RegExp): Promise<string> {
  for (let tries = 0; tries < 1200; tries += 1) {
    const found = pattern.exec(out());
    if (found !== null) return found[1] ?? '';
    if (child.exitCode !== null) break;
    await sleep(100);
  }
  throw new Error(`It never said ${pattern.source}:\n${out()}`);
}

async function answers(url: string, key: string): Promise<void> {
  for (const content of ['Hello', 'x'.repeat(2_000_000)]) {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content }] }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${answer.status}: ${text.slice(0, 1000)}`);
  }
  const page = await fetch(`${url}/admin`);
  if (page.status !== 200) throw new Error(`the admin page: ${page.status}`);
  say('✓ answers, to a large body too, and has the admin page');
}

/** Sends SIGINT to the supervisor, as Ctrl-C in a terminal does. */
async function stop(started: Started): Promise<void> {
  const pid = /"msg":"supervising","pid":(\d+)/.exec(started.out())?.[1];
  process.kill(Number(pid), 'SIGINT');
  await started.ended;
  say('✓ and stops');
}

async function main(): Promise<void> {
  await run(`npm pack --pack-destination ${folder}`, root);
  const [[install = '', ...first] = [], , own = []] = blocksOf('A package', 'sh').map((text) =>
    text.trim().split('\n'),
  );
  await run(install);
  const quickstart = first.pop() ?? '';
  for (const line of first) await run(line);
  const started = start(quickstart);
  const url = await says(started, /Base URL\s+(\S+)\/v1\n/);
  say(`✓ ${quickstart}`);
  await answers(url, (await readFile(path.join(folder, '.gateway', 'quickstart-key'), 'utf8')).trim());
  await run('npx gateway ledger verify');
  await stop(started);
  await serveOwn(own);
}

/** Serves with the configuration of the page, and the simulated upstream in place of its provider. */
async function serveOwn(lines: readonly string[]): Promise<void> {
  const upstream = start('npx gateway simulate-upstream --port 0');
  const upstreamUrl = await says(upstream, /listens on (http:\S+)/);
  const [config = ''] = blocksOf('A package', 'yaml');
  await writeFile(
    path.join(folder, 'gateway.yaml'),
    config.replace('https://api.openai.com/v1', upstreamUrl),
  );
  const key = (await run(blocksOf('A package', 'sh')[1]?.trim() ?? '')).trim();
  Object.assign(variables, { FIRST_KEY: key, OPENAI_API_KEY: 'none' });
  const commands = [...lines];
  const serve = commands.pop() ?? '';
  for (const line of commands) await run(line);
  const served = start(serve);
  await answers(await says(served, /"msg":"listening","url":"([^"]+)"/), key);
  await stop(served);
  upstream.child.kill('SIGTERM');
  await upstream.ended;
}

try {
  await main();
} finally {
  for (const child of children) child.kill('SIGTERM');
  await rm(folder, { recursive: true, force: true });
}
