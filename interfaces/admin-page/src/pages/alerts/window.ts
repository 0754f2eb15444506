import type { Got } from '../../api/client.ts';
import { inLedger, ofOwner, ofWindow } from '../../ui/things.tsx';

/** A budget alert with its mails. */
export type Alert = Got<'/api/v1/admin/spend/budget-alerts'>['items'][number];

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
