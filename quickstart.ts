import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { formatKey } from './domain/identity/api-key.ts';
import { environment, processVariables } from './infrastructure/config/load.ts';
import { newKey } from './infrastructure/key-secrets.ts';
import type { Terminal } from './interfaces/cli/command.ts';
import { startSimulatedUpstream } from './interfaces/simulated-upstream/server.ts';
import { serveCommand } from './serve-command.ts';

export const quickstartConfig = path.join(import.meta.dirname, 'config', 'quickstart.yaml');

interface Quickstart {
  readonly key: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** The key of the quick start: generated at first start, kept with mode 0600, never a constant. */
export async function ensureQuickstart(
  dataDir: string,
  upstreamUrl = 'http://127.0.0.1:1/v1',
): Promise<Quickstart> {
  const file = path.join(dataDir, 'quickstart-key');
  await mkdir(dataDir, { recursive: true });
  const fresh = formatKey(newKey());
  const key = await writeFile(file, `${fresh}\n`, { mode: 0o600, flag: 'wx' }).then(
    () => fresh,
    async () => (await readFile(file, 'utf8')).trim(),
  );
  return { key, variables: { GATEWAY_QUICKSTART_KEY: key, GATEWAY_SIMULATED_URL: upstreamUrl } };
}

/** `npm start`: everything on this machine, nothing to set up. */
export async function quickstartCommand(terminal: Terminal): Promise<number> {
  const variables = processVariables();
  const { dataDir, configPath } = environment(variables);
  const upstream = await startSimulatedUpstream({ port: 0 });
  try {
    const { key, variables: own } = await ensureQuickstart(dataDir, upstream.url);
    return await serveCommand(configPath ?? quickstartConfig, { ...variables, ...own }, [], terminal, {
      onReady: (url) => announce(terminal, url, key),
    });
  } finally {
    await upstream.close();
  }
}

function announce({ out }: Terminal, url: string, key: string): void {
  out(`
The gateway is ready.

  Base URL   ${url}/v1
  API key    ${key}

Try it:

  curl -s ${url}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"model":"fast","messages":[{"role":"user","content":"Hello"}]}'
`);
}
