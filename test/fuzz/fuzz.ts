import { grown, maxMutantBytes, mutated } from './mutate.ts';
import { Random, seedOf } from './random.ts';
import { shrunk } from './shrink.ts';
import { Broken, Probe, roughly, type Target } from './target.ts';

/** CPU milliseconds of this thread that one step may take: no admitted request may occupy it for longer. */
const maxStepMs = 250;

/** Bytes of an input that is grown: one of `grownEvery` inputs, to find steps that are not linear. */
const mostBytes = 256 * 1024;
const grownEvery = 250;

/** Limits of the kept inputs, which are those with new behaviour beside the samples. */
const maxKept = 500;
const maxKeptBytes = 8 * 1024;

export interface Fault {
  readonly what: string;
  /** The smallest failing input that was found. */
  readonly input: Buffer;
}

/** The result of the runs on one target. */
export interface Fuzzed {
  readonly runs: number;
  /** Number of different behaviours of the reader. */
  readonly pictures: number;
  /** CPU of the slowest step, and how large its input was. */
  readonly worst: { readonly ms: number; readonly bytes: number };
  readonly fault: Fault | undefined;
}

export interface Terms {
  readonly runs: number;
  readonly seed: number;
  /** Milliseconds since the epoch after which no further input is tried. */
  readonly until?: number;
}

interface Tried {
  readonly picture: string;
  readonly ms: number;
  readonly broken: string | undefined;
}

/** Reads one input. Random choices depend only on the input, so that it alone reproduces the run. */
export async function tried(target: Target, input: Buffer): Promise<Tried> {
  const probe = new Probe(new Random(seedOf(input)));
  const [picture, broken] = await outcomeOf(target, input, probe);
  return { picture, ms: probe.slowestMs, broken };
}

async function outcomeOf(
  target: Target,
  input: Buffer,
  probe: Probe,
): Promise<readonly [picture: string, broken: string | undefined]> {
  try {
    return [await target.check(input, probe), undefined];
  } catch (error) {
    if (error instanceof Broken) return ['', error.message];
    return ['', `it throws ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
  }
}

/** As `tried`; an input is slow only if it is slow each time, since the machine may have been busy. */
async function judged(target: Target, input: Buffer): Promise<Tried> {
  let best = await tried(target, input);
  for (let again = 0; again < 3 && best.broken === undefined && best.ms > maxStepMs; again += 1) {
    const next = await tried(target, input);
    if (next.ms < best.ms) best = next;
  }
  const isSlow = best.broken === undefined && best.ms > maxStepMs;
  return isSlow ? { ...best, broken: `a step takes ${Math.round(best.ms)} ms` } : best;
}

/** Tries mutants of a target's samples until one breaks a law, or all runs are done. */
export async function fuzz(
  target: Target,
  { runs, seed, until = Number.POSITIVE_INFINITY }: Terms,
): Promise<Fuzzed> {
  const random = new Random(seedOf(Buffer.from(`${seed} ${target.name}`)));
  const kept: Buffer[] = [];
  const pictures = new Set<string>();
  let worst = { ms: 0, bytes: 0 };
  let run = 0;
  for (; run < runs && (run % 64 !== 0 || Date.now() < until); run += 1) {
    const input = target.samples[run] ?? nextInput(target, kept, random, run);
    const { picture, ms, broken } = await judged(target, input);
    if (ms > worst.ms) worst = { ms, bytes: input.length };
    if (broken !== undefined)
      return { runs: run + 1, pictures: pictures.size, worst, fault: await smallest(target, input, broken) };
    if (pictures.has(picture)) continue;
    pictures.add(picture);
    if (input.length <= maxKeptBytes && run >= target.samples.length) keep(kept, input, random);
  }
  return { runs: run, pictures: pictures.size, worst, fault: undefined };
}

function nextInput(target: Target, kept: readonly Buffer[], random: Random, run: number): Buffer {
  const from = kept.length > 0 && random.chance(0.4) ? random.pick(kept) : random.pick(target.samples);
  const { reshape, samples: others, words, grownBytes = mostBytes } = target;
  const shaped = reshape !== undefined && random.chance(0.6) ? reshape(from, random) : from;
  const mutant = shaped !== from && random.chance(0.7) ? shaped : mutated(shaped, random, { others, words });
  return run % grownEvery === 0 ? grown(mutant, random, grownBytes) : mutant.subarray(0, maxMutantBytes);
}

function keep(kept: Buffer[], input: Buffer, random: Random): void {
  if (kept.length < maxKept) kept.push(input);
  else kept[random.below(maxKept)] = input;
}

async function smallest(target: Target, input: Buffer, broken: string): Promise<Fault> {
  const isSlow = broken.startsWith('a step takes');
  const alike = roughly(broken);
  const small = isSlow
    ? input
    : await shrunk(input, async (smaller) => {
        const { broken: also } = await tried(target, smaller);
        return also !== undefined && roughly(also) === alike;
      });
  const { broken: what = broken } = isSlow ? { broken } : await tried(target, small);
  return { what, input: small };
}
