import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { reloadInThread } from '../../composition/reload-in-thread.ts';
import { loadConfig } from '../../infrastructure/config/load.ts';
import { servedOf } from '../../infrastructure/config/served-config.ts';
import { causeOf } from '../../infrastructure/logging.ts';
import { aKey, basicConfig } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';

let file = '';
const variables = { TOKEN: 'token-of-the-environment' };
const models = Array.from({ length: 45 }, (_, index) => ({
  id: `model-${index}`,
  routes: [{ provider: 'up', upstream_model: `up-${index}`, extra_headers: { 'x-token': '${TOKEN}' } }],
}));

beforeAll(async () => {
  file = path.join(await makeTestFolder('reload-in-thread'), 'gateway.yaml');
  await writeFile(file, stringify({ ...basicConfig('http://127.0.0.1:9/v1', aKey()), models }));
});

const reload = (reconcileInto?: string) =>
  reloadInThread({ file, variables, reconcileInto, allowShrink: false, confirmed: undefined });

describe('the thread of a reload', () => {
  it('returns the part of the file that a process serves, without teams, service accounts, users and API keys', async () => {
    const loaded = await loadConfig(file, variables);
    if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
    const served = servedOf(loaded.right);
    expect(await reload()).toEqual({ kind: 'ready', served, kept: undefined });
    const { config } = loaded.right;
    expect(config.users).toHaveLength(1);
    const ofOwners = Object.keys(config).filter((name) => !Object.hasOwn(served.config, name));
    expect(ofOwners.toSorted()).toEqual(['apiKeys', 'serviceAccounts', 'teams', 'users']);
  });

  it('passes on the cause of a failure', async () => {
    const fault: unknown = await reload('postgres://127.0.0.1:1/nowhere').catch((error: unknown) => error);
    expect(causeOf(fault)).toBe('ECONNREFUSED');
  });
});
