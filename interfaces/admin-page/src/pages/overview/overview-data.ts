import { inLedger } from '../../ui/things.tsx';
import type { paths } from '../../api/api.d.ts';

export type Overview =
  paths['/api/v1/admin/overview']['get']['responses'][200]['content']['application/json']['data'];
export type Hour = Overview['hours'][number];

const hourMs = 3_600_000;

/** The filters of the list of requests that select the 24 hours. */
export const windowOf = (of: Pick<Overview, 'window_start' | 'window_end'>) => ({
  from: of.window_start,
  to: of.window_end,
});

/** Those of them that the ledger has, which is what requests and spend are counted from. */
export const ledgerWindowOf = (of: Pick<Overview, 'window_start' | 'window_end'>) => ({
  ...windowOf(of),
  ...inLedger,
});

export const ofHour = ({ hour_start: from }: Hour) => ({
  from,
  to: new Date(Date.parse(from) + hourMs).toISOString(),
});

/** “14:00”, in UTC. */
export const hourText = ({ hour_start: from }: Hour): string => from.slice(11, 16);

export const errorsOf = ({ errors }: Pick<Hour, 'errors'>): number =>
  errors.caller + errors.upstream + errors.gateway;
