// npm run bench: the gateway in three profiles compared with a bare proxy, and with a peer if it is installed,
// interleaved in one run, as medians of ratios. docs/performance.md says what is measured, and how.
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type InstalledPeer, installedPeer, isPeerName, peerNames } from './peers.ts';
import { type Conditions, type Memory, type Results, resultOf, type Taken } from './results.ts';
import { type Scenario, scenarios, type SideName } from './scenarios.ts';
import { type Sample, type Side, Stage } from './sides.ts';
import { conditionsLine, memoryTable, scenarioTable } from './tables.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [] },
    peer: { type: 'string' },
    'peer-folder': { type: 'string', default: path.join(import.meta.dirname, '..') },
    json: { type: 'string' },
  },
});

const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** Ends the run because of invalid options. */
function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

function positive(name: 'rounds' | 'scale'): number {
  const value = Number(values[name]);
  const wrong = name === 'rounds' ? !Number.isInteger(value) || value < 1 : !(value > 0 && value < 1000);
  return wrong
    ? refuse(`--${name} ${values[name]}: a ${name === 'rounds' ? 'whole ' : ''}number above 0`)
    : value;
}

function chosen(): readonly Scenario[] {
  const names = scenarios.map(({ name }) => name);
  const wrong = values.only.find((name) => !names.includes(name));
  if (wrong !== undefined) refuse(`--only ${wrong}: there are ${names.join(', ')}`);
  return values.only.length === 0 ? scenarios : scenarios.filter(({ name }) => values.only.includes(name));
}

function askedPeer(): InstalledPeer | undefined {
  const { peer } = values;
  if (peer === undefined) return undefined;
  if (!isPeerName(peer)) return refuse(`--peer ${peer}: there are ${peerNames.join(', ')}`);
  const found = installedPeer(peer, values['peer-folder']);
  return typeof found === 'string' ? refuse(found) : found;
}

const rounds = positive('rounds');
const scale = positive('scale');
const measured = chosen();
const peer = askedPeer();

const sidesOf = ({ sides, withPeer }: Scenario): readonly SideName[] =>
  withPeer && peer !== undefined ? [...sides, peer.name] : sides;

const [processor] = cpus();
const conditions: Conditions = {
  takenAt: new Date().toISOString().slice(0, 10),
  node: process.versions.node,
  processors: cpus().length,
  processor: processor?.model ?? 'unknown',
  loadAverage: loadavg()[0] ?? Number.NaN,
  rounds,
  scale,
  ...(peer === undefined ? {} : { peer: `${peer.name} ${peer.version}` }),
};

/** Work at the start of a process, and the release of memory after a load, end within this time. */
const quietMs = 3000;
const mib = (kib: number): number => Math.round(kib / 1024);

/** All sides in turn, round by round. */
async function takenOf(scenario: Scenario, sides: readonly Side[]): Promise<readonly Taken[]> {
  const samples = new Map<SideName, Sample[]>(sides.map(({ name }) => [name, []]));
  const { warmRounds } = scenario;
  for (let round = -warmRounds; round < rounds; round += 1)
    for (let turn = 0; turn < sides.length; turn += 1) {
      // Each round starts with another side, so that none always follows the same one.
      const side = sides[(round + warmRounds + turn) % sides.length];
      if (side === undefined) continue;
      const sample = await side.sample(scenario, scale);
      if (round >= 0) samples.get(side.name)?.push(sample);
    }
  return sides.map(({ name }) => ({ side: name, samples: samples.get(name) ?? [] }));
}

async function run(stage: Stage): Promise<Results> {
  const sides = new Map<SideName, Side>();
  for (const name of new Set(measured.flatMap((each) => [...sidesOf(each), ...each.beside])))
    sides.set(name, await stage.side(name));
  const among = (names: readonly SideName[]): readonly Side[] =>
    names.flatMap((name) => sides.get(name) ?? []);
  const residents = [...sides.values()].flatMap(({ name, resident }) =>
    resident === undefined ? [] : [{ side: name, resident }],
  );
  await sleep(quietMs);
  const idle = residents.map(({ resident }) => resident());
  for (const scenario of measured) for (const side of among(sidesOf(scenario))) await side.tried(scenario);
  for (const side of sides.values()) await side.warmedUp();
  const results = [];
  for (const scenario of measured) {
    const compared = sidesOf(scenario);
    const taken = await takenOf(scenario, among([...compared, ...scenario.beside]));
    const result = resultOf(
      scenario,
      taken.slice(0, compared.length),
      taken.slice(compared.length),
      peer?.name,
    );
    out(`\n${scenarioTable(scenario, result, conditions)}`);
    results.push(result);
  }
  await sleep(quietMs);
  const memory = residents.map(({ side, resident }, index): Memory => {
    const { servingKib, supervisorKib } = resident();
    return {
      side,
      idleMib: mib(idle[index]?.servingKib ?? Number.NaN),
      afterLoadMib: mib(servingKib),
      supervisorMib: mib(supervisorKib),
    };
  });
  out(`\n${memoryTable(memory)}`);
  return { conditions, scenarios: results, memory };
}

const stage = await Stage.open(peer);
try {
  out(conditionsLine(conditions));
  const results = await run(stage);
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  await stage.close();
}
