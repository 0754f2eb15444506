import type { paths } from '../../api/api.d.ts';
import { ofOwner } from '../../ui/things.tsx';

/** A budget alert with its mails. */
export type Alert =
  paths['/api/v1/admin/spend/budget-alerts']['get']['responses'][200]['content']['application/json']['data']['items'][number];

/** The requests of the owner in the window that an alert is about. */
export const windowRequests = (alert: Alert): Readonly<Record<string, string>> => ({
  ...ofOwner(alert),
  from: alert.window_start,
  to: alert.window_end,
});
