import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestGateway } from '../support/gateway.ts';
import { everythingServer, listening, type RunningServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
const running: RunningServer[] = [];
let gateway: TestGateway;
let withKey: RunningServer;

beforeAll(async () => {
  const everything = await everythingServer();
  gateway = await scene.gateway([{ id: 'everything', url: everything.url }]);
  // The suite sends no key, so this proxy adds it.
  withKey = await listening((req, res) => {
    const { method, headers } = req;
    const onward = request(
      `${gateway.url}/mcp/everything`,
      { method, headers: { ...headers, authorization: `Bearer ${scene.key}` } },
      (answer) => {
        res.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(res);
        res.once('close', () => answer.destroy());
      },
    );
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  running.push(everything, withKey);
});
afterAll(async () => {
  for (const server of running) await server.stop();
});

const suite = path.join(
  path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist',
  'index.js',
);

interface Check {
  readonly id: string;
  readonly status: string;
}

/** The checks of the official conformance suite for a server, by scenario. */
async function checksOf(url: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mcp-conformance-'));
  await new Promise((resolve) => {
    spawn(process.execPath, [suite, 'server', '--url', url, '--output-dir', folder], {
      cwd: folder,
      stdio: 'ignore',
    }).once('exit', resolve);
  });
  const found: Record<string, readonly string[]> = {};
  for (const entry of await readdir(folder)) {
    const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(entry) ?? [];
    if (scenario === undefined) continue;
    const checks: readonly Check[] = JSON.parse(
      await readFile(path.join(folder, entry, 'checks.json'), 'utf8'),
    );
    found[scenario] = checks.map(({ id, status }) => `${id}: ${status}`).toSorted();
  }
  return found;
}

it('a server passes each official conformance scenario through the gateway that it passes directly', async () => {
  const [direct, through] = [await checksOf(running[0]!.url), await checksOf(withKey.url)];
  expect(Object.keys(direct).length).toBeGreaterThan(20);
  // The gateway rejects browser pages of other origins, which this server does not do.
  expect(through['dns-rebinding-protection']?.every((check) => check.endsWith('SUCCESS'))).toBe(true);
  for (const [scenario, checks] of Object.entries(direct))
    if (!checks.some((check) => check.endsWith('FAILURE')))
      expect([scenario, through[scenario]]).toEqual([scenario, checks]);
});
