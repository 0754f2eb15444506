import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { redactedError } from '../../domain/payload/redact.ts';
import { type LiveConfig, liveConfig } from '../../infrastructure/config/live-config.ts';
import { loadConfig } from '../../infrastructure/config/load.ts';
import { provider } from './config-reading.ts';

let folder: string;
let file: string;
const variables: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'live-config-'));
  file = path.join(folder, 'gateway.yaml');
  await writeFile(file, provider('    auth: {mode: bearer, token: "${TOKEN}"}\n'));
});
afterAll(() => rm(folder, { recursive: true }));

async function begun(token: string): Promise<LiveConfig> {
  variables['TOKEN'] = token;
  const loaded = await loadConfig(file, variables);
  if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
  return liveConfig(file, variables, loaded.right, []);
}

async function rotated(live: LiveConfig, token: string): Promise<void> {
  variables['TOKEN'] = token;
  expect(E.isRight(await live.reload(() => loadConfig(file, variables)))).toBe(true);
}

const told = (live: LiveConfig, token: string): string =>
  redactedError(`wrong key: ${token}`, live.policy().redaction);

describe('a credential that a reload removed', () => {
  it('stays redacted, because requests in flight still use it', async () => {
    const live = await begun('token-of-monday');
    await rotated(live, 'token-of-tuesday');
    for (const token of ['token-of-monday', 'token-of-tuesday'])
      expect(told(live, token)).toBe('wrong key: [REDACTED]');
    expect(live.policy().redactionSource.credentials).toContain('token-of-monday');
  });

  it('stays redacted after further reloads and 1000 tokens that providers obtained, of which 256 are redacted', async () => {
    const live = await begun('token-of-monday');
    for (const day of ['tuesday', 'wednesday', 'monday', 'thursday']) await rotated(live, `token-of-${day}`);
    for (let hour = 0; hour < 1000; hour += 1) live.conceal(`obtained-in-hour-${hour}`);
    for (const day of ['monday', 'tuesday', 'wednesday', 'thursday'])
      expect(told(live, `token-of-${day}`)).toBe('wrong key: [REDACTED]');
    for (let hour = 0; hour < 1000; hour += 1) {
      const token = `obtained-in-hour-${hour}`;
      expect(told(live, token)).toBe(`wrong key: ${hour < 1000 - 256 ? token : '[REDACTED]'}`);
    }
  });
});

describe('a configuration file that could not be written to the database', () => {
  it('changes nothing in the process', async () => {
    const live = await begun('token-of-monday');
    const before = [live.loaded(), live.policy(), live.prices(), live.resolver()];
    variables['TOKEN'] = 'token-of-tuesday';
    const lost = new Error('the database went away');
    await expect(live.reload(() => Promise.reject(lost))).rejects.toBe(lost);
    const after = [live.loaded(), live.policy(), live.prices(), live.resolver()];
    after.forEach((each, index) => expect(each).toBe(before[index]));
  });
});
