import type { paths } from '../../api/api.d.ts';
import { inLedger, ofOwner, ofWindow } from '../../ui/things.tsx';

/** A budget alert with its mails. */
export type Alert =
  paths['/api/v1/admin/spend/budget-alerts']['get']['responses'][200]['content']['application/json']['data']['items'][number];

/** The requests of the owner in the window that an alert is about. */
export const windowRequests = (alert: Alert): Readonly<Record<string, string>> => ({
  ...ofOwner(alert),
  ...ofWindow(alert),
});

/** Those of them that the ledger had when the alert was made, the one that made it among them. */
export const requestsThen = (alert: Alert): Readonly<Record<string, string>> => ({
  ...windowRequests(alert),
  to: new Date(Date.parse(alert.created_at) + 1).toISOString(),
  ...inLedger,
});
