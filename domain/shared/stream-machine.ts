import type { UpstreamLabels } from './gateway-error.ts';

/**
 * How an input ended: by itself, or by a fault that `reason` tells in words fit for a caller. `status` is the one
 * that the fault has in logs (504: a time-out); 502 unless given.
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
 * A stream rule as a step function. `step` and `end` never throw, and `end` is called once, after the last
 * input: that is where a premature end is judged. A state may hold a private buffer that `step` extends in
 * place, as long as nobody else holds that state.
 */
export interface StreamMachine<S, I, O> {
  readonly start: () => S;
  readonly step: (state: S, input: I) => readonly [S, readonly O[]];
  readonly end: (state: S, ending: Ending) => readonly O[];
  /** The ending for the machine behind it, where what was read tells more of it. */
  readonly ending?: (state: S, ending: Ending) => Ending;
  /** Bytes of an input that is not complete yet; a machine without this keeps none. */
  readonly holds?: (state: S) => number;
}

/** A machine whose state is hidden: all that is left is how to begin a run of it. */
export interface Sealed<I, O> {
  readonly begin: () => Run<I, O>;
}

export interface Run<I, O> {
  push(input: I): readonly O[];
  end(ending: Ending): readonly O[];
  /** The ending for whoever reads the outputs. */
  ending(ending: Ending): Ending;
  /** Bytes of an input that is not complete yet. */
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

/** What the first machine puts out is what the second one takes in. */
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
