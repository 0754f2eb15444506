import type { ResponseData } from '../../api/client.ts';
import { inLedger, ofWindow } from '../../ui/things.tsx';

export type Overview = ResponseData<'/api/v1/admin/overview'>;
export type Hour = Overview['hours'][number];

const hourMs = 3_600_000;

/** The requests of the 24 hours that are in the ledger, from which requests and spend are counted. */
export const ledgerWindowOf = (of: Overview) => ({ ...ofWindow(of), ...inLedger });

export const ofHour = ({ hour_start: from }: Hour) => ({
  from,
  to: new Date(Date.parse(from) + hourMs).toISOString(),
});

/** “14:00”, in UTC. */
export const hourText = ({ hour_start: from }: Hour): string => from.slice(11, 16);

export const errorsOf = ({ errors }: Pick<Hour, 'errors'>): number =>
  errors.caller + errors.upstream + errors.gateway;
