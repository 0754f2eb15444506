import type { Random } from './random.ts';

/** A reader of external bytes, and its laws, which must hold for any bytes. */
export interface Target {
  readonly name: string;
  /** The inputs that are mutated: well-formed, so that mutants pass the first checks. */
  readonly samples: readonly Buffer[];
  /** Tokens of the protocol. */
  readonly words: readonly string[];
  /** The size of its large inputs, if the default is more than it receives in production. */
  readonly grownBytes?: number;
  /** A mutation that keeps the outer form, such as lengths, so that the inner parts are reached. */
  readonly reshape?: (input: Buffer, random: Random) => Buffer;
  /**
   * Reads the input, and throws if a law is broken. It returns a rough picture of the reader's behaviour; an
   * input with a new picture is mutated further.
   */
  readonly check: (input: Buffer, probe: Probe) => string | Promise<string>;
}

/** The random choices for the check of one input, and its measured cost. */
export class Probe {
  readonly random: Random;
  /** CPU milliseconds of this thread in the slowest step. */
  slowestMs = 0;

  constructor(random: Random) {
    this.random = random;
  }

  /** Measures one step of the product without the check. While the step waits, nothing else computes. */
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
