// npm run try:agents: real coding agents against a gateway in front of the simulated upstream.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type Agent, agents, type Place, type Setup } from './agents.ts';
import { type Ended, execute } from './execute.ts';
import { type Installed, installAgent, projectCommands } from './install.ts';
import { marker } from './marker.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import { type Part, type SeenCall, setStage, type Stage } from './stage.ts';
import { asTable } from './table.ts';
import { aKey } from '../support/a-key.ts';
import { sweptFolder } from '../support/swept-folder.ts';

interface Run extends Part {
  readonly agent: Agent;
  readonly setup: Setup;
  readonly scenario: Scenario;
  readonly home: string;
  readonly work: string;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    scenario: { type: 'string', multiple: true },
    verbose: { type: 'boolean' },
  },
});

const out = (line: string): void => void process.stdout.write(`${line}\n`);
const note = (line: string): void => void process.stderr.write(`${line}\n`);

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

/** Claude Code sends different requests to a model that it knows. */
const modelOf = (agent: Agent, scenario: Scenario, id: string): string =>
  agent.name === 'claude-code' && scenario.name === 'text' ? 'claude-sonnet-4-5' : id;

/** Milliseconds that an agent has until its first call. */
const beginMaxMs = 60_000;

/** The model that an agent requests in a scenario with an unknown model. */
const noModel = 'no-such-model';

function planRuns(folder: string): readonly Run[] {
  const wanted = (names: readonly string[] | undefined, name: string): boolean =>
    names?.includes(name) ?? true;
  return agents
    .filter(({ name }) => wanted(values.only, name))
    .flatMap((agent) =>
      agent.setups.flatMap((setup) =>
        scenarios
          .filter(({ name }) => wanted(values.scenario, name))
          .filter(({ mcp }) => mcp === undefined || agent.mcpTool !== undefined)
          .map((scenario) => {
            const id = [agent.name, setup.family, scenario.name].join('-').replaceAll(/[_ ]/g, '-');
            const work = path.join(folder, id, 'work');
            const simulate = scenario.simulate(agent, path.join(work, 'note.txt'));
            const model = modelOf(agent, scenario, id);
            const home = path.join(folder, id, 'home');
            return {
              id,
              key: aKey(),
              model,
              simulate,
              budget: scenario.budget,
              agent,
              setup,
              scenario,
              home,
              work,
            };
          }),
      ),
    );
}

/** The agent gets nothing of this process's environment except the path of the system's own commands. */
const environment = (home: string): Record<string, string> => ({
  PATH: `${projectCommands}${path.delimiter}${process.env['PATH']}`,
  HOME: home,
  TMPDIR: path.join(home, 'tmp'),
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  NO_COLOR: '1',
});

// oxlint-disable-next-line no-control-regex
const colours = /\u001b\[[0-9;?]*[A-Za-z]/g;

type Line = readonly string[];
const head: Line = ['agent', 'version', 'family', 'scenario', 'exit', 'calls seen', 'text', 'verdict'];

const lineOf = ({ agent, setup, scenario }: Run, rest: Line): Line => [
  agent.name,
  agent.version,
  setup.family,
  scenario.name,
  ...rest,
];

/** The agent's target: with an unknown key or an unknown model if its scenario has none. */
const placeOf = ({ key, model, scenario: { hasKey, hasModel, prompt, mcp } }: Run, url: string): Place => ({
  url,
  key: hasKey ? key : aKey(),
  model: hasModel ? model : noModel,
  prompt,
  mcp: mcp === undefined ? undefined : { name: mcp.name, url: `${url}${mcp.path}` },
});

/** Writes the files and settings, then runs the agent's own preparing commands, then the agent. */
async function launched(run: Run, command: string, stage: Stage, since: number): Promise<Ended> {
  const { setup, scenario, home, work } = run;
  const { files, env, args, before = [] } = setup.launch(placeOf(run, stage.url));
  for (const folder of [work, path.join(home, 'tmp')]) await mkdir(folder, { recursive: true });
  await writeFile(path.join(work, 'note.txt'), `${marker}\n`);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(home, name)), { recursive: true });
    await writeFile(path.join(home, name), text);
  }
  const terms = {
    cwd: work,
    env: { ...environment(home), ...env },
    beginMaxMs,
    hasBegun: () => stage.lines() > since,
    maxMs: scenario.maxMs,
    signal: interrupted.signal,
  };
  for (const words of before) {
    const { code, stdout, stderr } = await execute(command, words, terms);
    if (code !== 0 || values.verbose === true) note(`${words[0]}: exit ${code}\n${stdout}${stderr}`);
  }
  return execute(command, args, terms);
}

async function perform(run: Run, command: string, stage: Stage): Promise<{ line: Line; failed: boolean }> {
  const { setup, scenario } = run;
  const since = stage.lines();
  const ended = await launched(run, command, stage, since);
  const calls = await (scenario.hasKey ? stage.callsOf(run.id) : stage.strangersCalls(since));
  const invocations = await stage.invocationsOf(run.id);
  const text = ended.stdout.replaceAll(colours, '').trim();
  const late = ended.timedOut && !scenario.mayGoOn ? ['it did not end in time'] : [];
  const faults = [...late, ...scenario.faults({ ended, text, calls, invocations, setup })];
  if (values.verbose === true || faults.length > 0)
    note(
      `--- ${run.id}\n${JSON.stringify(calls, null, 1)}\n${JSON.stringify(invocations)}\n${ended.stdout}\n${ended.stderr}`,
    );
  const exit = ended.timedOut ? `stopped after ${Math.round(ended.ms / 1000)} s` : String(ended.code);
  const passed = ended.timedOut ? 'pass: it was still at it' : 'pass';
  const verdict = faults.length === 0 ? passed : `FAIL: ${faults.join('; ')}`;
  return {
    line: lineOf(run, [exit, counted(calls), text.replaceAll(/\s+/g, ' ').slice(0, 60), verdict]),
    failed: faults.length > 0,
  };
}

/** Equal calls, counted, such as `2 × 200 success chat_completions stream opencode`. */
function counted(calls: readonly SeenCall[]): string {
  const counts = new Map<string, number>();
  for (const { status, outcome, error, family, stream, harness } of calls) {
    const label = error === undefined || error === outcome ? outcome : `${outcome} (${error})`;
    const words = [status, label, family, stream ? 'stream' : 'whole', harness ?? 'no row'].join(' ');
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return [...counts].map(([words, count]) => `${count} × ${words}`).join(', ');
}

async function installAll(wanted: readonly Agent[]): Promise<ReadonlyMap<Agent, Installed>> {
  const installed = new Map<Agent, Installed>();
  for (const agent of wanted) {
    note(`installing ${agent.package}@${agent.version}`);
    installed.set(agent, await installAgent(agent));
  }
  return installed;
}

async function performAll(runs: readonly Run[], stage: Stage, installed: ReadonlyMap<Agent, Installed>) {
  const lines: Line[] = [head];
  let failures = 0;
  for (const run of runs) {
    if (interrupted.signal.aborted) break;
    const got = installed.get(run.agent);
    if (got?.kind !== 'installed') {
      failures += 1;
      lines.push(lineOf(run, ['', '', '', `skipped: ${got?.why}`]));
      continue;
    }
    note(`running ${run.id}`);
    const { line, failed } = await perform(run, got.command, stage);
    lines.push(line);
    if (failed) failures += 1;
  }
  return { lines, failures };
}

const folder = await sweptFolder('agents');
try {
  const runs = planRuns(folder);
  if (runs.length === 0) throw new Error(`There are ${agents.map(({ name }) => name).join(', ')}.`);
  const installed = await installAll([...new Set(runs.map(({ agent }) => agent))]);
  const stage = await setStage(folder, runs);
  try {
    const { lines, failures } = await performAll(runs, stage, installed);
    out(asTable(lines));
    if (failures > 0 || interrupted.signal.aborted) process.exitCode = 1;
  } finally {
    await stage.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
