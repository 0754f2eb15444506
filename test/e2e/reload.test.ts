import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, type ConfigFile, queries, runGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { logged, type RunningCommand, startCommand, times } from './processes.ts';
import { rawExchange } from './raw-http.ts';

const database = withDatabase();
const query = queries(database.url);
const keys = [aKey(), aKey(), aKey(), aKey()];
const refused = 'the configuration was refused, and the old one stays';
const takenUp = 'the configuration was applied';
let upstream: SimulatedUpstream;
let file = '';
let serving: RunningCommand & { readonly url: string };

/** A file with `keyCount` keys and these models. */
const config = (keyCount: number, models: readonly string[] = ['fast', 'slow', 'large']): ConfigFile => {
  const basic = basicConfig(upstream.url, keys[0]!);
  const routes = [{ provider: 'up', upstream_model: 'simulated-fast' }];
  return {
    ...basic,
    models: models.map((id) => ({ id, routes })),
    api_keys: keys
      .slice(0, keyCount)
      .map((value, index) => ({ name: `key-${index}`, owner: 'user:a@example.com', value })),
  };
};
const write = (next: ConfigFile | string): Promise<void> =>
  writeFile(file, typeof next === 'string' ? next : stringify(next));
const env = () => ({ GATEWAY_CONFIG: file, DATABASE_URL: database.url() });

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  file = path.join(await makeTestFolder('reload'), 'gateway.yaml');
  await write(config(4));
  const command = startCommand(['serve', '--workers', '2'], env());
  const [, url = ''] = await command.says(/"url":"([^"]+)"/);
  serving = { ...command, url };
  await times(command, 'listening', 2);
});
afterAll(async () => {
  serving?.child.kill('SIGTERM');
  await serving?.exited;
  await upstream?.close();
});

const statusOf = async (key: string): Promise<number> => {
  const headers = [['authorization', `Bearer ${key}`]] as const;
  return (await rawExchange(serving.url, { method: 'GET', path: '/v1/models', headers })).status;
};
const inForce = async (): Promise<unknown> => {
  const [row] = await query<object>(
    `select (select count(*)::int from api_keys where revoked_at is null) as keys,
            (select count(*)::int from models where enabled) as models,
            (select count(*)::int from providers where enabled) as providers`,
  );
  return row;
};
const workers = (): readonly number[] => logged(serving, 'listening').map(({ pid }) => Number(pid));
/** Waits until each of the two workers has logged the outcome. */
async function hangUp(message: string, alsoTo: readonly number[] = []): Promise<string> {
  const before = logged(serving, message).length;
  for (const worker of alsoTo) process.kill(worker, 'SIGHUP');
  serving.child.kill('SIGHUP');
  await times(serving, message, before + 2);
  return String(logged(serving, message).at(-1)?.['problem']);
}

const all = { keys: 4, models: 3, providers: 1 };
const nothings = ['', '# to be filled in\n', '{}\n', 'null\n', '---\n', '\uFEFF\n'];

describe('SIGHUP', () => {
  it.each(nothings)('refuses an empty file and keeps the configuration: %j', async (text) => {
    await write(text);
    expect(await hangUp(refused)).toContain('is empty');
    expect(await inForce()).toEqual(all);
    expect(await statusOf(keys[0]!)).toBe(200);
  });

  it('refuses a pipe, and so does a start, because a second read of it would never end', async () => {
    await rm(file);
    execFileSync('mkfifo', [file]);
    expect(await hangUp(refused)).toContain('is a pipe');
    expect(await runGateway(['serve'], env())).toMatchObject({
      code: 1,
      err: expect.stringContaining('is a pipe'),
    });
    await rm(file);
    await write(config(4));
    await hangUp(takenUp);
  });

  it('removes half of the keys at once', async () => {
    await write(config(2));
    await hangUp(takenUp);
    expect(await inForce()).toEqual({ ...all, keys: 2 });
    expect(await Promise.all(keys.map(statusOf))).toEqual([200, 200, 401, 401]);
  });

  it('removes no more than half if it is sent twice before it is refused: programs that watch files do that', async () => {
    await write(config(2, ['fast']));
    const before = logged(serving, refused).length;
    // The workers stand still meanwhile: neither has refused the first when the second is sent.
    for (const worker of workers()) process.kill(worker, 'SIGSTOP');
    for (let sent = 0; sent < 2; sent += 1) {
      serving.child.kill('SIGHUP');
      // Signals of one kind become one if the second is sent before the supervisor has received the first.
      await sleep(300);
    }
    for (const worker of workers()) process.kill(worker, 'SIGCONT');
    await times(serving, refused, before + 4);
    expect(await inForce()).toEqual({ ...all, keys: 2 });
    await write(config(2));
    await hangUp(takenUp);
  });

  it('removes more than half only if it is sent again for the same file', async () => {
    await write(config(2, ['fast']));
    // Sent to every process of the gateway at once, it is one request and not a second one.
    expect(await hangUp(refused, workers())).toContain('would remove 2 of 3 models');
    await sleep(1500);
    expect(await inForce()).toEqual({ ...all, keys: 2 });
    // Another file needs its own confirmation.
    await write(config(0));
    expect(await hangUp(refused)).toContain('would remove 2 of 2 API keys');
    await write(config(2, ['fast']));
    expect(await hangUp(refused)).toContain('would remove 2 of 3 models');
    await hangUp(takenUp);
    expect(await inForce()).toEqual({ keys: 2, models: 1, providers: 1 });
  });
});

describe('an empty file', () => {
  beforeAll(() => write('# nothing\n'));

  it.each(['serve', 'seed'])('is refused by %s if it would remove something', async (command) => {
    // An empty file names no address, and that of the default may be taken.
    const { code, err } = await runGateway([command], { ...env(), GATEWAY_BIND: '127.0.0.1:0' });
    expect(code).toBe(1);
    expect(err).toContain('is empty, and would remove 1 of 1 providers, 1 of 1 models, 2 of 2 API keys');
    expect(err).toContain('--allow-shrink');
    expect(await inForce()).toEqual({ keys: 2, models: 1, providers: 1 });
  });

  it('causes a warning of check-config', async () => {
    const { code, out } = await runGateway(['check-config'], env());
    expect(code).toBe(0);
    expect(out).toContain('is empty');
  });

  it('is applied by seed --allow-shrink', async () => {
    expect((await runGateway(['seed', '--allow-shrink'], env())).code).toBe(0);
    expect(await inForce()).toEqual({ keys: 0, models: 0, providers: 0 });
  });
});
