import { grouped } from '../../ui/amounts.ts';
import type { ResponseData } from '../../api/client.ts';
import { fieldsOf } from '../../api/loose-json.ts';

/** A request log in its list, and in its details. */
export type LoggedRow = ResponseData<'/api/v1/admin/observability/request-logs'>['items'][number];
export type LoggedDetail = ResponseData<'/api/v1/admin/observability/request-logs/{request_log_id}'>;

/** The requester: the service account, else the person, else the team. */
export function requesterOf(log: LoggedRow):
  | {
      readonly filter: 'service_account_id' | 'team_id' | 'user_id';
      readonly id: string;
      readonly name: string;
    }
  | undefined {
  if (log.service_account_id !== null)
    return {
      filter: 'service_account_id',
      id: log.service_account_id,
      name: log.service_account_name ?? log.service_account_id,
    };
  if (log.user_id !== null) return { filter: 'user_id', id: log.user_id, name: log.user_name ?? log.user_id };
  if (log.team_id === null) return undefined;
  return { filter: 'team_id', id: log.team_id, name: log.team_name ?? log.team_id };
}

/** Whether the caller asked for a stream; `undefined` when the row does not say. */
export function isStream(log: Pick<LoggedRow, 'metadata'>): boolean | undefined {
  const { stream } = fieldsOf(log.metadata);
  return typeof stream === 'boolean' ? stream : undefined;
}

export const countText = (count: number | null): string => (count === null ? 'n/a' : grouped(count));
