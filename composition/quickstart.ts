import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { formatKey } from '../domain/identity/api-key.ts';
import { type Environment, environment } from '../infrastructure/config/load.ts';
import { processVariables } from '../infrastructure/config/process-variables.ts';
import { closedFolder } from '../infrastructure/embedded-postgres/closed-folder.ts';
import { openDataDir } from '../infrastructure/embedded-postgres/data-dir.ts';
import { newKey } from '../infrastructure/key-secrets.ts';
import type { Terminal } from '../interfaces/cli/command.ts';
import { startSimulatedUpstream } from '../tools/simulated-upstream/server.ts';
import type { Orders } from './orders.ts';
import type { Service } from './serve.ts';
import { serveCommand } from './serve-command.ts';

export const quickstartConfig = path.join(import.meta.dirname, '..', 'config', 'quickstart.yaml');

interface Quickstart {
  readonly key: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** The key of the quick start. */
export async function ensureQuickstart(
  dataDir: string,
  upstreamUrl = 'http://127.0.0.1:1/v1',
): Promise<Quickstart> {
  const key = await keptSecret(path.join(dataDir, 'quickstart-key'), formatKey(newKey()));
  return { key, variables: { GATEWAY_QUICKSTART_KEY: key, GATEWAY_SIMULATED_URL: upstreamUrl } };
}

/** A secret that is generated at first start, kept with mode 0600, and never a constant. */
async function keptSecret(file: string, fresh: string): Promise<string> {
  await closedFolder(path.dirname(file));
  return writeFile(file, `${fresh}\n`, { mode: 0o600, flag: 'wx' }).then(
    () => fresh,
    async () => (await readFile(file, 'utf8')).trim(),
  );
}

interface QuickstartAdmin {
  readonly email: string;
  readonly password: string;
  /** Where a person finds the password. */
  readonly keptIn: string;
}

/** The platform admin of the quick start, unless the environment says otherwise. */
async function ensureAdmin({ dataDir, adminEmail, adminPassword }: Environment): Promise<QuickstartAdmin> {
  const email = adminEmail ?? 'admin@example.com';
  if (adminPassword !== undefined)
    return { email, password: adminPassword, keptIn: 'GATEWAY_ADMIN_PASSWORD' };
  const file = path.join(dataDir, 'admin-password');
  return { email, password: await keptSecret(file, randomBytes(24).toString('base64url')), keptIn: file };
}

/** `npm start`: everything on this machine, nothing to set up. */
export async function quickstartCommand(orders: Orders, terminal: Terminal): Promise<number> {
  const variables = processVariables();
  const { dataDir, configPath } = environment(variables);
  await openDataDir(dataDir);
  const admin = await ensureAdmin(environment(variables));
  const upstream = await startSimulatedUpstream({ port: 0 });
  try {
    const { key, variables: own } = await ensureQuickstart(dataDir, upstream.url);
    const all = {
      ...variables,
      ...own,
      GATEWAY_ADMIN_EMAIL: admin.email,
      GATEWAY_ADMIN_PASSWORD: admin.password,
    };
    return await serveCommand(orders, configPath ?? quickstartConfig, all, [], terminal, {
      onReady: (urls) => announce(terminal, urls, key, admin),
    });
  } finally {
    await upstream.close();
  }
}

function announce(
  { out }: Terminal,
  { url, adminUrl }: Pick<Service, 'url' | 'adminUrl'>,
  key: string,
  admin: QuickstartAdmin,
): void {
  out(`
The gateway is ready.

  Base URL   ${url}/v1
  API key    ${key}
  Admin page ${adminUrl}/admin
  Admin      ${admin.email}, password in ${admin.keptIn}

Try it:

  curl -s ${url}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"fast","messages":[{"role":"user","content":"Hello"}]}'
`);
}
