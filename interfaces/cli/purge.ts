import type { PurgeOrder, PurgeReport } from '../../application/retention/purge-rows.ts';
import { retentions } from '../../domain/request-log/retention.ts';
import { flags, type Terminal, UsageError } from './command.ts';

/** `gateway purge-request-logs --retention 1d|3d|7d [--dry-run]`: prints cutoff, matched, deleted. */
export const purgeCommand =
  (purge: (wanted: Pick<PurgeOrder, 'retention' | 'dryRun'>) => Promise<PurgeReport>, { out }: Terminal) =>
  async (args: readonly string[]): Promise<number> => {
    const { values } = flags(args, {
      retention: { type: 'string' },
      'dry-run': { type: 'boolean' },
    });
    const retention = retentions.find((each) => each === values.retention);
    if (retention === undefined)
      throw new UsageError('purge-request-logs needs --retention 1d, --retention 3d or --retention 7d.');
    const { cutoff, matched, deleted } = await purge({ retention, dryRun: values['dry-run'] === true });
    out(`cutoff ${cutoff.toISOString()}`);
    out(`matched ${matched}`);
    out(`deleted ${deleted}`);
    return 0;
  };
