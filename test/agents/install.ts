import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Agent } from './agents.ts';

const root = path.join(import.meta.dirname, '..', '..');

/** The folder with the commands of the project's own packages, including its Node. */
export const projectCommands = path.join(root, 'node_modules', '.bin');

/** Agents are kept here between runs; git ignores the folder. */
const cache = path.join(root, '.gateway', 'agents');

/** The result of installing an agent: its command, or the reason of the failure. */
export type Installed =
  | { readonly kind: 'installed'; readonly command: string }
  | { readonly kind: 'failed'; readonly why: string };

/** Milliseconds for npm to install one agent: the largest is a binary of 400 MB. */
const installMaxMs = 300_000;

/** Installs an agent's package into the cache with npm, unless the same version is already there. */
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
    // Install scripts run the agent, which would write into the user's HOME.
    () => npm(['rebuild', ...quiet], folder, { HOME: home }),
  ];
  for (const step of steps) {
    const { code, output } = await step();
    if (code !== 0) return { kind: 'failed', why: `npm could not install ${wanted}: ${output}` };
  }
  await writeFile(stamp, '');
  return installed;
}

/** Runs the current npm, or else the one on PATH, on the project's Node: an older Node gets older agents. */
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
