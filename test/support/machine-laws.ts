import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Ending, Sealed } from '../../domain/shared/stream-machine.ts';
import { byteByByte, chunkingsOf, someBytes } from './arbitraries/bytes.ts';

/** A machine that reads bytes, and what the laws need to know about it. */
export interface LawSubject<Output> {
  readonly machine: Sealed<Buffer, Output>;
  /** Streams that exercise the machine: well-formed ones, and nearly well-formed ones. */
  readonly streams: fc.Arbitrary<Buffer>;
  /** Outputs after which no other may come. */
  readonly isTerminal: (output: Output) => boolean;
  /** A piece that never completes anything, and the complete output for more of it than any limit allows. */
  readonly endless: { readonly piece: Buffer; readonly pushes: number; readonly outputs: readonly Output[] };
}

const endings: readonly Ending[] = [{ kind: 'eof' }, { kind: 'fault', reason: 'The connection broke.' }];
const anEnding = fc.constantFrom(...endings);

/** The complete output of a new run for these inputs and this ending. */
export function outputsOf<I, O>(
  machine: Sealed<I, O>,
  inputs: readonly I[],
  ending: Ending = { kind: 'eof' },
): readonly O[] {
  const run = machine.begin();
  return [...inputs.flatMap((input) => run.push(input)), ...run.end(ending)];
}

/** The laws that every sealed machine obeys. */
export function describeMachineLaws<Output>(name: string, subject: LawSubject<Output>): void {
  const { machine, isTerminal, endless } = subject;
  const streams = fc.oneof({ arbitrary: subject.streams, weight: 4 }, { arbitrary: someBytes, weight: 1 });
  const cutStreams = streams.chain((bytes) => fc.tuple(fc.constant(bytes), chunkingsOf(bytes)));

  describe(`the laws of a machine: ${name}`, () => {
    it('the outputs are the same for any chunking of the bytes', () => {
      fc.assert(
        fc.property(cutStreams, anEnding, ([bytes, pieces], ending) =>
          isDeepStrictEqual(outputsOf(machine, pieces, ending), outputsOf(machine, [bytes], ending)),
        ),
        { numRuns: 400 },
      );
    });

    it('the outputs are the same for bytes that arrive one by one', () => {
      fc.assert(
        fc.property(streams, anEnding, (bytes, ending) =>
          isDeepStrictEqual(
            outputsOf(machine, byteByByte(bytes), ending),
            outputsOf(machine, [bytes], ending),
          ),
        ),
      );
    });

    it('there is at most one terminal output, and it is the last one', () => {
      fc.assert(
        fc.property(cutStreams, anEnding, ([, pieces], ending) => {
          const outputs = outputsOf(machine, pieces, ending);
          const first = outputs.findIndex(isTerminal);
          return first < 0 || first === outputs.length - 1;
        }),
        { numRuns: 300 },
      );
    });

    it('there is no output after the terminal one, for any further input', () => {
      fc.assert(
        fc.property(streams, streams, anEnding, (bytes, more, ending) => {
          const run = machine.begin();
          if (!run.push(bytes).some(isTerminal)) return true;
          return run.push(more).length === 0 && run.end(ending).length === 0;
        }),
      );
    });

    it('it never throws on arbitrary bytes', () => {
      fc.assert(
        fc.property(fc.array(someBytes, { maxLength: 5 }), anEnding, (pieces, ending) => {
          outputsOf(machine, pieces, ending);
        }),
        { numRuns: 300 },
      );
    });

    it('two runs do not affect each other', () => {
      fc.assert(
        fc.property(cutStreams, cutStreams, ([, left], [, right]) => {
          const runs = [machine.begin(), machine.begin()] as const;
          const outputs: [Output[], Output[]] = [[], []];
          for (let turn = 0; turn < Math.max(left.length, right.length); turn += 1) {
            if (left[turn] !== undefined) outputs[0].push(...runs[0].push(left[turn]!));
            if (right[turn] !== undefined) outputs[1].push(...runs[1].push(right[turn]!));
          }
          outputs[0].push(...runs[0].end({ kind: 'eof' }));
          outputs[1].push(...runs[1].end({ kind: 'eof' }));
          return isDeepStrictEqual(outputs, [outputsOf(machine, left), outputsOf(machine, right)]);
        }),
      );
    });

    it('it reports at most twice its input as held, because a buffer grows in steps', () => {
      fc.assert(
        fc.property(cutStreams, ([, pieces]) => {
          const run = machine.begin();
          let fed = 0;
          return pieces.every((piece) => {
            run.push(piece);
            fed += piece.length;
            return run.holds() >= 0 && run.holds() <= 2 * fed;
          });
        }),
      );
    });

    it('its state is bounded: endless input fails once, and nothing of it is held afterwards', () => {
      const run = machine.begin();
      const outputs = Array.from({ length: endless.pushes }, () => run.push(endless.piece)).flat();
      expect([...outputs, ...run.end({ kind: 'eof' })]).toEqual(endless.outputs);
      expect(run.holds()).toBe(0);
    });
  });
}
