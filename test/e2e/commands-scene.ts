import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, runGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';

export const key = aKey();

type Failing = readonly [
  args: readonly string[],
  code: number,
  says: string,
  env: Readonly<Record<string, string>>,
];

/** Commands that must fail with a code and a message; two run at a time, since the machine may have two cores. */
export async function failing(calls: readonly Failing[]): Promise<void> {
  for (let from = 0; from < calls.length; from += 2)
    await Promise.all(
      calls.slice(from, from + 2).map(async ([args, code, says, env]) => {
        const ended = await runGateway(args, env);
        expect({ args, code: ended.code, out: ended.out }).toEqual({ args, code, out: '' });
        expect(ended.err).toContain(says);
        expect(ended.err).not.toMatch(/\n\s+at /);
      }),
    );
}

/** A folder for files, a database and an upstream for the commands. */
export function commandsScene() {
  const database = withDatabase();
  let folder = '';
  let upstream: SimulatedUpstream;
  beforeAll(async () => {
    folder = await makeTestFolder('commands');
    upstream = await startSimulatedUpstream({ port: 0 });
  });
  afterAll(() => upstream?.close());

  /** Writes a configuration file as text or as an object, and returns its path. */
  async function file(name: string, content: string | object): Promise<string> {
    const full = path.join(folder, name);
    await writeFile(full, typeof content === 'string' ? content : stringify(content));
    return full;
  }

  const good = (more: object = {}) =>
    basicConfig(upstream.url, '${DEV_KEY}', {
      provider: { auth: { mode: 'bearer', token: '${UP_TOKEN}' } },
      route: { compatibility: { compat: { supports_stream_usage: true } } },
      more: { ...more },
    });

  const variables = (config: string, url = database.url()) => ({
    GATEWAY_CONFIG: config,
    DATABASE_URL: url,
    DEV_KEY: key,
    UP_TOKEN: 'upstream-token-0123456789',
  });

  return {
    query: queries(database.url),
    databaseUrl: database.url,
    folder: () => folder,
    upstream: () => upstream,
    file,
    good,
    variables,
  };
}
