/**
 * `npm run fuzz -- [--runs N] [--minutes M] [--seed S] [--only TARGET]`: runs every reader of external bytes
 * on mutants of the project's samples, and of the recordings if they exist. The runs are divided among the
 * targets whose names begin with TARGET. `--input BASE64`, or `--input @FILE` with a file in base64, runs one
 * input, as printed with a failure.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { numbersOf } from '../support/given-number.ts';
import { type Fuzzed, fuzz, tried } from './fuzz.ts';
import { seedOf } from './random.ts';
import type { Target } from './target.ts';
import { allTargets } from './targets.ts';
import { recordedStreams } from './targets/recorded.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    input: { type: 'string' },
  },
});

/** The default: one minute, or no time limit if runs are given. */
const bounds = { minutes: values.runs === undefined ? '1' : 'Infinity', runs: 'Infinity' };
const { minutes, runs, seed } = numbersOf(
  { ...bounds, seed: String(Date.now() % 2 ** 31), ...values },
  'minutes',
  'runs',
  'seed',
);
const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** Inputs in base64 up to this length are printed in the command; larger ones are written to a file. */
const maxShownChars = 2000;

/** Heap growth that is accepted: compiled code, and caches that fill up to their limits. */
const heapSlackBytes = 64 * 1024 * 1024;

const heldBytes = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

/** The value of `--input` for an input. */
function inputArgument(input: Buffer): string {
  const text = input.toString('base64');
  if (text.length <= maxShownChars) return text === '' ? "''" : text;
  const folder = path.join(os.tmpdir(), 'gateway-fuzz');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${seedOf(input).toString(16)}.base64`);
  writeFileSync(file, text);
  return `@${file}`;
}

/** An input in base64, or `@` and a file that contains it, since a command argument has at most 128 KiB. */
const givenInput = (text: string): Buffer =>
  Buffer.from(text.startsWith('@') ? readFileSync(text.slice(1), 'latin1') : text, 'base64');

function tell(target: Target, { runs: done, pictures, worst, fault }: Fuzzed, seconds: number): void {
  const rate = Math.round(done / Math.max(seconds, 0.001));
  out(
    `${fault === undefined ? 'ok    ' : 'FAULT '} ${target.name}: ${done} inputs, ${rate}/s, ${pictures} pictures, slowest ${worst.ms.toFixed(1)} ms (${worst.bytes} bytes)`,
  );
  if (fault === undefined) return;
  out(`  seed ${seed}: ${fault.what}`);
  out(`  input: ${JSON.stringify(fault.input.toString('latin1').slice(0, maxShownChars))}`);
  out(`  again: npm run fuzz -- --only '${target.name}' --input ${inputArgument(fault.input)}`);
}

async function fuzzAll(targets: readonly Target[]): Promise<boolean> {
  const before = heldBytes();
  const from = Date.now();
  let done = 0;
  let faults = 0;
  for (const [index, target] of targets.entries()) {
    const share = Math.ceil((runs - done) / (targets.length - index));
    const left = from + minutes * 60_000 - Date.now();
    const began = Date.now();
    const fuzzed = await fuzz(target, { runs: share, seed, until: began + left / (targets.length - index) });
    done += fuzzed.runs;
    if (fuzzed.fault !== undefined) faults += 1;
    tell(target, fuzzed, (Date.now() - began) / 1000);
  }
  const grownBytes = heldBytes() - before;
  const seconds = (Date.now() - from) / 1000;
  out(
    `${done} inputs in ${seconds.toFixed(0)} s with seed ${seed}: ${faults} targets with a fault; the heap is ${(grownBytes / 1024 / 1024).toFixed(1)} MiB larger, the most memory was ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`,
  );
  return faults === 0 && grownBytes <= heapSlackBytes;
}

async function tryOne(targets: readonly Target[], input: Buffer): Promise<boolean> {
  let holds = true;
  for (const target of targets) {
    const { picture, ms, broken } = await tried(target, input);
    out(`${target.name}: ${broken ?? 'all laws hold'}, ${ms.toFixed(1)} ms; ${picture}`);
    holds &&= broken === undefined;
  }
  return holds;
}

const targets = allTargets(recordedStreams()).filter(({ name }) => name.startsWith(values.only));
if (targets.length === 0) throw new Error(`No target begins with ${values.only}.`);
const holds =
  values.input === undefined ? await fuzzAll(targets) : await tryOne(targets, givenInput(values.input));
process.exitCode = holds ? 0 : 1;
