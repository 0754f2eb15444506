import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, runGateway, startGateway, type TestGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';

const database = withDatabase();
const keys = [aKey(), aKey()];
let upstream: SimulatedUpstream;
let gateway: TestGateway;
let file = '';

const config = () => basicConfig(upstream.url, `\${file:${file}}`);
const statuses = () =>
  Promise.all(
    keys.map(async (key) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${gateway.url}/v1/models`, { headers })).status;
    }),
  );

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  file = path.join(await makeTestFolder('secret-files'), 'key');
  await writeFile(file, `${keys[0]}\n`);
  gateway = await startGateway(config(), database.url());
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

describe('a secret that comes from a file', () => {
  it('is read again at each reload; while the file is missing, empty or unsuitable, the old secret stays in force', async () => {
    expect(await statuses()).toEqual([200, 401]);
    const unsuitable: readonly (readonly [problem: string, make: () => Promise<unknown>])[] = [
      ['cannot be read (ENOENT)', () => rm(file)],
      ['is empty', () => writeFile(file, '')],
      ['is larger than 64 KiB', () => writeFile(file, 'x'.repeat(64 * 1024 + 1))],
      ['is not UTF-8 text', () => writeFile(file, Buffer.from([0xff]))],
      ['is not a file', () => rm(file).then(() => mkdir(file))],
    ];
    for (const [problem, make] of unsuitable) {
      await make();
      await expect(gateway.take(config())).rejects.toThrow(`the file ${file} ${problem}`);
      expect(await statuses()).toEqual([200, 401]);
    }
    await rmdir(file);
    await writeFile(file, `${keys[1]}\n`);
    await gateway.take(config());
    expect(await statuses()).toEqual([401, 200]);
  });

  it('is read by check-config, which names the key and the file if that fails', async () => {
    const own = `${file}.yaml`;
    await writeFile(own, stringify(config()));
    expect(await runGateway(['check-config', own], {})).toMatchObject({ code: 0 });
    await writeFile(own, stringify(basicConfig(upstream.url, '${file:/nowhere/key}')));
    const { code, err } = await runGateway(['check-config', own], {});
    expect(code).toBe(1);
    expect(err).toContain('api_keys[0].value: the file /nowhere/key cannot be read (ENOENT)');
  });
});
