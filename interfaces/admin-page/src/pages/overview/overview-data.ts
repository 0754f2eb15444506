import { inLedger, ofWindow } from '../../ui/things.tsx';
import type { paths } from '../../api/api.d.ts';

export type Overview =
  paths['/api/v1/admin/overview']['get']['responses'][200]['content']['application/json']['data'];
export type Hour = Overview['hours'][number];

const hourMs = 3_600_000;

/** The requests of the 24 hours that the ledger has, which is what requests and spend are counted from. */
export const ledgerWindowOf = (of: Overview) => ({ ...ofWindow(of), ...inLedger });

export const ofHour = ({ hour_start: from }: Hour) => ({
  from,
  to: new Date(Date.parse(from) + hourMs).toISOString(),
});

/** “14:00”, in UTC. */
export const hourText = ({ hour_start: from }: Hour): string => from.slice(11, 16);

export const errorsOf = ({ errors }: Pick<Hour, 'errors'>): number =>
  errors.caller + errors.upstream + errors.gateway;
