import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { isZero, priceText } from './decimal-text.ts';
import { NumberText } from './number-text.ts';
import type { Pair } from './provider-names.ts';

/** One row of a foreign price file: its price, or the reason why it has none to import. */
export interface PriceRow {
  /** The row's name in the file, for the lists that people read. */
  readonly model: string;
  readonly price: Either<string, RowPrice>;
}

/** A row that can be carried: exact for text tokens, with what else the provider may charge for. */
export interface RowPrice {
  readonly pair: Pair;
  readonly inputUsdPerMillion: string;
  readonly outputUsdPerMillion: string;
  /** What the file prices separately and a caller has to ask for; empty if there is nothing. */
  readonly notCarried: readonly string[];
}

/** The two prices of a row as the file has them: absent, or of any type. */
export interface WrittenPrices {
  readonly input: unknown;
  readonly output: unknown;
  readonly embeds: boolean;
  /** The file counts in 10^−places USD per million tokens: 6 for USD per token, 0 for USD per million. */
  readonly places: number;
}

/**
 * The two price texts. An absent output price is a reason to skip the row, never 0, except for embeddings, which have
 * no output. A zero cannot be told from a price that the file's authors did not know, so it is skipped too.
 */
export function textTokenPrices(
  written: WrittenPrices,
): Either<string, { readonly input: string; readonly output: string }> {
  const input = onePrice('input', written.input, written.places);
  if (E.isLeft(input)) return input;
  if (isZero(input.right)) return E.left('input price is zero: free or unknown cannot be told apart');
  const noOutput = written.embeds && written.output === undefined;
  const output = noOutput ? E.right('0') : onePrice('output', written.output, written.places);
  if (E.isLeft(output)) return output;
  if (isZero(output.right) && !written.embeds)
    return E.left('output price is zero: free or unknown cannot be told apart');
  return E.right({ input: input.right, output: output.right });
}

function onePrice(side: 'input' | 'output', value: unknown, places: number): Either<string, string> {
  if (value === undefined || value === null) return E.left(`no ${side} price`);
  if (!(value instanceof NumberText)) return E.left(`${side} price is not a number`);
  return pipe(
    priceText(value.source, places),
    E.mapLeft((reason) => `${side} price: ${reason}`),
  );
}
