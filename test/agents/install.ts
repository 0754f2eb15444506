import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Agent } from './agents.ts';

const root = path.join(import.meta.dirname, '..', '..');

/** Where commands of the project's own packages are, its Node among them. */
export const projectCommands = path.join(root, 'node_modules', '.bin');

/** Agents are kept here from one try to the next; git does not see it. */
const cache = path.join(root, '.gateway', 'agents');

/** What installing an agent came to: its command, or why there is none. */
export type Installed =
  | { readonly kind: 'installed'; readonly command: string }
  | { readonly kind: 'failed'; readonly why: string };

/** Milliseconds for npm to bring one agent: the largest is a binary of 400 MB. */
const installMaxMs = 300_000;

/** Has npm bring an agent's package into the cache, unless that very version is there already. */
export async function installAgent(agent: Agent): Promise<Installed> {
  const folder = path.join(cache, agent.name);
  const installed: Installed = {
    kind: 'installed',
    command: path.join(folder, 'node_modules', '.bin', agent.command),
  };
  const stamp = path.join(folder, `installed-${agent.version}`);
  if (existsSync(stamp)) return installed;
  await rm(folder, { recursive: true, force: true });
  const home = path.join(folder, 'home');
  await mkdir(home, { recursive: true });
  const allowScripts = Object.fromEntries(agent.installScripts.map((name) => [name, true]));
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ private: true, allowScripts }));
  const wanted = `${agent.package}@${agent.version}`;
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const steps = [
    () => npm(['install', '--ignore-scripts', ...quiet, wanted], folder, {}),
    // Install scripts run the agent, and it would write into the user's HOME.
    () => npm(['rebuild', ...quiet], folder, { HOME: home }),
  ];
  for (const step of steps) {
    const { code, output } = await step();
    if (code !== 0) return { kind: 'failed', why: `npm could not install ${wanted}: ${output}` };
  }
  await writeFile(stamp, '');
  return installed;
}

/** Runs the npm that runs this script, or else the one on PATH, on the project's Node: older ones get older agents. */
function npm(
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const script = process.env['npm_execpath'];
  const [file, first] = script === undefined ? ['npm', []] : [process.execPath, [script]];
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(file, [...first, ...args], {
      cwd,
      env: { ...process.env, PATH: `${projectCommands}${path.delimiter}${process.env['PATH']}`, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: installMaxMs,
    });
    child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => void (output += chunk.toString()));
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => resolve({ code, output: output.trim() }));
  });
}
