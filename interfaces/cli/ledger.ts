import type { LedgerVerification } from '../../application/verify-ledger.ts';
import { type Terminal, UsageError } from './command.ts';

/** `gateway ledger verify`: prints the rows that differ and exits with 1 if there are any. */
export const ledgerCommand =
  (verify: () => Promise<LedgerVerification>, { out, err }: Terminal) =>
  async ([verb, ...rest]: readonly string[]): Promise<number> => {
    if (verb !== 'verify' || rest.length > 0) throw new UsageError('ledger verify');
    const { rows, differences } = await verify();
    for (const difference of differences) err(difference);
    out(`${rows} priced rows recomputed, ${differences.length} differences.`);
    return differences.length === 0 ? 0 : 1;
  };
