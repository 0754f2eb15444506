import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { runGateway } from './gateway.ts';
import { makeTestFolder } from './test-server.ts';

/** `gateway ledger verify` on a suite's database. */
export async function ledgerVerify(databaseUrl: string): ReturnType<typeof runGateway> {
  const file = path.join(await makeTestFolder('verify'), 'gateway.yaml');
  await writeFile(file, stringify({ providers: [], models: [], teams: [], users: [], api_keys: [] }));
  return runGateway(['ledger', 'verify'], { GATEWAY_CONFIG: file, DATABASE_URL: databaseUrl });
}
