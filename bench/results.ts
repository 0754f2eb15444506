import { median } from './load.ts';
import type { Measure, SideName } from './scenarios.ts';

/** A measure of one side in one scenario: medians over the rounds, in which the sides took turns. */
export interface Figure {
  readonly median: number;
  /** The ratio to the yardstick in the same round. */
  readonly ratio?: number;
  /** The difference to the yardstick in the same round. */
  readonly added?: number;
  /** The ratio to the peer in the same round. */
  readonly ofPeer?: number;
  /** The values of each round. */
  readonly rounds: readonly number[];
}

export type Figures = Readonly<Partial<Record<Measure, Figure>>>;

export interface ScenarioResult {
  readonly name: string;
  readonly sides: readonly ({ readonly side: SideName } & Figures)[];
}

/** Resident memory in MiB, before any load and after all of it. */
export interface Memory {
  readonly side: SideName;
  readonly idleMib: number;
  readonly afterLoadMib: number;
  /** Of the supervisor, after the load. */
  readonly supervisorMib: number;
}

export interface Conditions {
  /** In UTC. */
  readonly takenAt: string;
  readonly node: string;
  readonly processors: number;
  readonly processor: string;
  /** Over the last minute before the start. */
  readonly loadAverage: number;
  readonly rounds: number;
  readonly scale: number;
  /** With its version. */
  readonly peer?: string;
}

/** The output of `npm run bench -- --json FILE`, from which the tables of docs/performance.md are made. */
export interface Results {
  readonly conditions: Conditions;
  readonly scenarios: readonly ScenarioResult[];
  readonly memory: readonly Memory[];
}

/** The rounds of one side. */
export interface Taken {
  readonly side: SideName;
  readonly samples: readonly Readonly<Partial<Record<Measure, number>>>[];
}

/** The results of the rounds. The first side is the yardstick; `beside` is not compared with it. */
export function resultOf(
  { name, measures }: { readonly name: string; readonly measures: readonly Measure[] },
  sides: readonly Taken[],
  beside: readonly Taken[],
  peer: SideName | undefined,
): ScenarioResult {
  const rival = sides.find(({ side }) => side === peer);
  const figuresOf = (taken: Taken, yardstick: Taken | undefined) => ({
    side: taken.side,
    ...Object.fromEntries(
      measures.flatMap((measure) => {
        const figure = figureOf(measure, taken, yardstick, yardstick && rival);
        return figure === undefined ? [] : [[measure, figure] as const];
      }),
    ),
  });
  return {
    name,
    sides: [
      ...sides.map((taken) => figuresOf(taken, sides[0])),
      ...beside.map((taken) => figuresOf(taken, undefined)),
    ],
  };
}

const roundsOf = ({ samples }: Taken, measure: Measure): readonly number[] =>
  samples.flatMap((sample) => sample[measure] ?? []);

/** `undefined` when this measure was not taken of this side. */
function figureOf(
  measure: Measure,
  taken: Taken,
  yardstick: Taken | undefined,
  rival: Taken | undefined,
): Figure | undefined {
  const own = roundsOf(taken, measure);
  if (own.length === 0) return undefined;
  const toYardstick = pairsOf(own, taken, yardstick, measure);
  const toRival = pairsOf(own, taken, rival, measure);
  const over = (pairs: Pairs, how: (one: number, other: number) => number): number =>
    rounded(median(pairs.map(([one, other]) => how(one, other))));
  return {
    median: rounded(median(own)),
    ...(toYardstick.length === 0
      ? {}
      : {
          ratio: over(toYardstick, (one, other) => one / other),
          added: over(toYardstick, (one, other) => one - other),
        }),
    ...(toRival.length === 0 ? {} : { ofPeer: over(toRival, (one, other) => one / other) }),
    rounds: own.map(rounded),
  };
}

type Pairs = readonly (readonly [one: number, other: number])[];

/**
 * Pairs each round of one side with the same round of another. There are no pairs of a side with itself, or with a
 * measure that was not taken.
 */
function pairsOf(own: readonly number[], { side }: Taken, other: Taken | undefined, measure: Measure): Pairs {
  if (other === undefined || other.side === side) return [];
  const theirs = roundsOf(other, measure);
  return theirs.length === own.length ? own.map((one, round) => [one, theirs[round] ?? Number.NaN]) : [];
}

/** Four digits: no figure is more precise. */
const rounded = (value: number): number => Number(value.toPrecision(4));
