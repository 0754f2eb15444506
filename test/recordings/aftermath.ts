import type { LogLine, queries } from '../support/gateway.ts';

export type Row = Record<string, unknown>;

/** All rows and log lines of one request. */
export interface Aftermath {
  readonly logs: readonly Row[];
  readonly attempts: readonly Row[];
  readonly ledger: readonly Row[];
  /** The fields of its `request` lines, of which a request has exactly one. */
  readonly outcomes: readonly Readonly<Record<string, unknown>>[];
}

/** Reads the rows and the outcome lines of requests by their `x-request-id`. */
export const aftermaths =
  (query: ReturnType<typeof queries>, lines: () => readonly LogLine[]) =>
  async (requestId: string): Promise<Aftermath> => ({
    logs: await query('select * from request_logs where request_id = $1', [requestId]),
    attempts: await query(
      'select a.* from request_log_attempts a join request_logs l using (request_log_id, ownership_scope_key) where l.request_id = $1',
      [requestId],
    ),
    ledger: await query('select * from usage_cost_events where request_id = $1', [requestId]),
    outcomes: lines()
      .filter(({ message, fields }) => message === 'request' && fields['request_id'] === requestId)
      .map(({ fields }) => fields),
  });
