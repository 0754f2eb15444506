import { ofOwner } from '../../ui/things.tsx';
import type { Alert } from './detail.tsx';

/** The requests of the owner in the window that an alert is about. */
export const windowRequests = (alert: Alert): Readonly<Record<string, string>> => ({
  ...ofOwner(alert),
  from: alert.window_start,
  to: alert.window_end,
});
