import type { Random } from './random.ts';

/** A reader of bytes from outside, and what must hold of it whatever the bytes are. */
export interface Target {
  readonly name: string;
  /** What is mutated: well-formed, so that mutants get far. */
  readonly samples: readonly Buffer[];
  /** Tokens of the protocol. */
  readonly words: readonly string[];
  /** Bytes of its large inputs, where those of the others are larger than it is ever given while it serves. */
  readonly grownBytes?: number;
  /** A mutation that keeps the outer shape, such as lengths, so that what is within is reached. */
  readonly reshape?: (input: Buffer, random: Random) => Buffer;
  /**
   * Reads the input, and throws where a law is broken. What it gives is a rough picture of what the reader did: an
   * input with a new one is mutated further.
   */
  readonly check: (input: Buffer, probe: Probe) => string | Promise<string>;
}

/** What the check of one input draws from, and what it costs. */
export class Probe {
  readonly random: Random;
  /** Milliseconds of this thread's CPU that the slowest step took. */
  slowestMs = 0;

  constructor(random: Random) {
    this.random = random;
  }

  /** One step of the product, without what the check itself costs. Where it waits, nothing else computes meanwhile. */
  step<A>(work: () => A): A {
    const before = process.threadCpuUsage();
    const done = work();
    if (done instanceof Promise) void done.then(this.ended(before), () => undefined);
    else this.ended(before)();
    return done;
  }

  private ended(before: NodeJS.CpuUsage): () => void {
    return () => {
      const { user, system } = process.threadCpuUsage(before);
      this.slowestMs = Math.max(this.slowestMs, (user + system) / 1000);
    };
  }
}

/** A law is broken. */
export class Broken extends Error {}

export function demand(holds: boolean, law: string): asserts holds {
  if (!holds) throw new Broken(law);
}

/** Words without what differs from input to input. */
export const roughly = (words: string): string =>
  words
    .replaceAll(/`[^`]*`/g, '`…`')
    .replaceAll(/\d+/g, '0')
    .slice(0, 160);
