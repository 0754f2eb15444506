import { readFile } from 'node:fs/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { CatalogueEntry } from '../../domain/money/price-catalogue.ts';
import { flags, type Terminal, UsageError } from './command.ts';

interface Remark {
  readonly model: string;
  readonly reason: string;
}

export interface PricingPorts {
  readonly importPrices: (
    text: string,
    options: { readonly effectiveFrom: string; readonly source: string },
  ) => Either<
    string,
    {
      readonly entries: readonly CatalogueEntry[];
      readonly skipped: readonly Remark[];
      readonly notes: readonly Remark[];
    }
  >;
  readonly formatOverrides: (entries: readonly CatalogueEntry[]) => string;
  readonly now: () => number;
}

/**
 * `gateway pricing import FILE`: prints a `pricing.overrides` block to standard output, and to standard error what
 * could not be converted exactly, and why.
 */
export const pricingCommand =
  (ports: PricingPorts, { out, err }: Terminal) =>
  async ([verb, ...args]: readonly string[]): Promise<number> => {
    const [file] = flags(args, {}, 1).positionals;
    if (verb !== 'import' || file === undefined) throw new UsageError('pricing import FILE');
    const text = await textOf(file);
    const imported = E.isLeft(text)
      ? text
      : ports.importPrices(text.right, {
          effectiveFrom: new Date(ports.now()).toISOString(),
          source: file,
        });
    if (E.isLeft(imported)) {
      err(imported.left);
      return 1;
    }
    const { entries, skipped, notes } = imported.right;
    for (const { model, reason } of notes) err(`note ${model}: ${reason}`);
    for (const { model, reason } of skipped) err(`skipped ${model}: ${reason}`);
    err(`${entries.length} prices, ${skipped.length} skipped.`);
    out(ports.formatOverrides(entries));
    return 0;
  };

async function textOf(file: string): Promise<Either<string, string>> {
  try {
    // The decoder removes a byte order mark, with which some programs of Windows save a text.
    return E.right(new TextDecoder().decode(await readFile(file)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return E.left(`${file} cannot be read (${code})`);
  }
}
