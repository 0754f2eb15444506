import type { ResponseData } from '../../api/client.ts';
import { inLedger, ofOwner, ofWindow } from '../../ui/things.tsx';

/** A budget alert with its mails. */
export type Alert = ResponseData<'/api/v1/admin/spend/budget-alerts'>['items'][number];

/** The owner's requests in the window of an alert. */
export const windowRequests = (alert: Alert): Readonly<Record<string, string>> => ({
  ...ofOwner(alert),
  ...ofWindow(alert),
});

/** Those of them that were in the ledger when the alert was made, including the one that triggered it. */
export const requestsThen = (alert: Alert): Readonly<Record<string, string>> => ({
  ...windowRequests(alert),
  to: new Date(Date.parse(alert.created_at) + 1).toISOString(),
  ...inLedger,
});
