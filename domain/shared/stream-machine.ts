import type { UpstreamLabels } from './gateway-error.ts';

/**
 * How an input ended: normally, or by a fault. `reason` is safe to show to callers. `status` is the fault's status in
 * logs (504 for a timeout); 502 unless given.
 */
export type Ending =
  | { readonly kind: 'eof' }
  | {
      readonly kind: 'fault';
      readonly reason: string;
      readonly status?: number | undefined;
      readonly labels?: UpstreamLabels | undefined;
      readonly faultCode?: string | undefined;
    };

/**
 * A stream rule as a step function. `step` and `end` never throw. `end` is called once, after the last input, and
 * decides whether the end was premature. A state may own a private buffer that `step` extends in place, as long as
 * nothing else holds that state.
 */
export interface StreamMachine<S, I, O> {
  readonly start: () => S;
  readonly step: (state: S, input: I) => readonly [S, readonly O[]];
  readonly end: (state: S, ending: Ending) => readonly O[];
  /** How the outputs ended, for their reader: what was read of the input may say more than its own ending does. */
  readonly ending?: (state: S, ending: Ending) => Ending;
  /** Bytes of incomplete input that are buffered. A machine without this method buffers none. */
  readonly holds?: (state: S) => number;
}

/** A machine with its state type hidden: it can only be started. */
export interface Sealed<I, O> {
  readonly begin: () => Run<I, O>;
}

export interface Run<I, O> {
  push(input: I): readonly O[];
  end(ending: Ending): readonly O[];
  /** How the outputs ended, for their reader. */
  ending(ending: Ending): Ending;
  /** Bytes of incomplete input that are buffered. */
  holds(): number;
}

export const seal = <S, I, O>(machine: StreamMachine<S, I, O>): Sealed<I, O> => ({
  begin: () => {
    let state = machine.start();
    return {
      push: (input) => {
        const [next, outputs] = machine.step(state, input);
        state = next;
        return outputs;
      },
      end: (ending) => machine.end(state, ending),
      ending: (ending) => machine.ending?.(state, ending) ?? ending,
      holds: () => machine.holds?.(state) ?? 0,
    };
  },
});

/** Feeds the outputs of the first machine into the second. */
export const andThen = <I, M, O>(first: Sealed<I, M>, second: Sealed<M, O>): Sealed<I, O> => ({
  begin: () => {
    const head = first.begin();
    const tail = second.begin();
    const feed = (middles: readonly M[]): readonly O[] => {
      const [only] = middles;
      if (only !== undefined && middles.length === 1) return tail.push(only);
      return middles.flatMap((middle) => tail.push(middle));
    };
    return {
      push: (input) => feed(head.push(input)),
      end: (ending) => [...feed(head.end(ending)), ...tail.end(head.ending(ending))],
      ending: (ending) => tail.ending(head.ending(ending)),
      holds: () => head.holds() + tail.holds(),
    };
  },
});
