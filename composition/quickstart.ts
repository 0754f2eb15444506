import { randomBytes } from 'node:crypto';
import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import type { DatabasePool } from 'slonik';
import { isAdmin } from '../application/admin/create-admin.ts';
import { endings } from '../application/shrinking.ts';
import { formatKey, parseKey } from '../domain/identity/api-key.ts';
import { type Environment, environment } from '../infrastructure/config/environment.ts';
import { processVariables } from '../infrastructure/config/process-variables.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import { privateFolder } from '../infrastructure/embedded-postgres/private-folder.ts';
import { openDataDir } from '../infrastructure/embedded-postgres/data-dir.ts';
import { readOrCreate } from '../infrastructure/embedded-postgres/secret-file.ts';
import { newKey } from '../infrastructure/key-secrets.ts';
import { argon2Passwords } from '../infrastructure/passwords.ts';
import { accountsStore } from '../infrastructure/postgres/accounts-store.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { sessionStore } from '../infrastructure/postgres/session-store.ts';
import { flags, type Terminal } from '../interfaces/cli/command.ts';
import { startSimulatedUpstream } from '../tools/simulated-upstream/server.ts';
import type { ProcessControl } from './process-control.ts';
import { refuseEmpty, type StartJudge } from './reload.ts';
import type { Service } from './serve.ts';
import { serveCommand } from './serve-command.ts';

export const quickstartConfig = path.join(import.meta.dirname, '..', 'config', 'quickstart.yaml');

/** The environment variables that the file refers to. */
export const quickstartVariables = (key: string, upstreamUrl: string): Readonly<Record<string, string>> => ({
  GATEWAY_QUICKSTART_KEY: key,
  GATEWAY_SIMULATED_URL: upstreamUrl,
});

/** A secret that is generated at the first start and kept with mode 0600; never a constant. */
async function keptSecret(file: string, fresh: string): Promise<string> {
  await privateFolder(path.dirname(file));
  const secret = await readOrCreate(file, fresh);
  if (secret === '') throw new Error(`${file} is empty. Delete it, and the next start creates it again.`);
  return secret;
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

/**
 * `gateway quickstart [--allow-shrink]`, which is `npm start`: everything on this machine, nothing to set up.
 */
export async function quickstartCommand(
  control: ProcessControl,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  flags(args, { 'allow-shrink': { type: 'boolean' } });
  const variables = processVariables();
  const { dataDir, configPath } = environment(variables);
  await openDataDir(dataDir);
  const admin = await ensureAdmin(environment(variables));
  const upstream = await startSimulatedUpstream({ port: 0 });
  try {
    const key = await keptSecret(path.join(dataDir, 'quickstart-key'), formatKey(newKey()));
    const all = {
      ...variables,
      ...quickstartVariables(key, upstream.url),
      GATEWAY_ADMIN_EMAIL: admin.email,
      GATEWAY_ADMIN_PASSWORD: admin.password,
    };
    return await serveCommand(control, () => configPath ?? quickstartConfig, all, args, terminal, {
      judge: configPath === undefined ? refuseOfOthers : refuseEmpty,
      onReady: async (urls, databaseUrl) => announce(terminal, urls, await valid(databaseUrl, key, admin)),
    });
  } finally {
    await upstream.close();
  }
}

/** Nobody chose the quick start's file for this database: whatever it would end belongs to another configuration. */
const refuseOfOthers: StartJudge = async (loaded, seed) => {
  const ended = endings(await seed.losses(seedOf(loaded)));
  if (ended !== undefined)
    throw new Error(
      `The quick start has its own configuration, which would remove ${ended} from this database. ` +
        '`npx gateway serve` serves yours; pass --allow-shrink to quickstart if that is intended.',
    );
};

/** What of the quick start's credentials works: `undefined` where it does not. */
interface ValidCredentials {
  /** Not valid if somebody revoked it, or where `GATEWAY_CONFIG` names a file without it. */
  readonly key: string | undefined;
  /** Not valid where another admin was there before: only the first admin is created with these. */
  readonly admin: QuickstartAdmin | undefined;
}

async function valid(databaseUrl: string, key: string, admin: QuickstartAdmin): Promise<ValidCredentials> {
  const pool = await openPool(databaseUrl, 1);
  try {
    return {
      key: (await isAccepted(pool, key)) ? key : undefined,
      admin: (await letsIn(pool, admin)) ? admin : undefined,
    };
  } finally {
    await pool.end();
  }
}

const letsIn = (pool: DatabasePool, admin: QuickstartAdmin): Promise<boolean> =>
  isAdmin({ sessions: sessionStore(pool), passwords: argon2Passwords() })(admin);

async function isAccepted(pool: DatabasePool, key: string): Promise<boolean> {
  const presented = parseKey(key);
  const accounts = accountsStore(
    pool,
    () => false,
    (fault) => {
      throw fault;
    },
  );
  return presented !== undefined && E.isRight(await accounts.authenticate(presented));
}

function announce(
  { out }: Terminal,
  { url, adminUrl }: Pick<Service, 'url' | 'adminUrl'>,
  { key, admin }: ValidCredentials,
): void {
  const login =
    admin === undefined
      ? 'as before; `npx gateway admin create --email E` makes one, or sets a password'
      : `${admin.email}, password in ${admin.keptIn}`;
  out(`
The gateway is ready.

  Base URL   ${url}/v1
  API key    ${key ?? 'as before; `npx gateway keys create --owner user:EMAIL --name NAME` makes one'}
  Admin page ${adminUrl}/admin
  Admin      ${login}
${key === undefined ? '' : firstCall(url, key)}`);
}

const firstCall = (url: string, key: string): string => `
Try it:

  curl -s ${url}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"fast","messages":[{"role":"user","content":"Hello"}]}'
`;
