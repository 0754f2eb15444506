import { type DatabasePool, sql } from 'slonik';
import type { InvocationLinks, LinkedRequest } from '../../application/ports/mcp-invocations.ts';
import { storedJson } from './stored-text.ts';
import { withinTime } from './within-time.ts';
import { type WriteBehindQueue, writeBehindQueue } from './write-behind-queue.ts';

export type LinkWriter = InvocationLinks & Pick<WriteBehindQueue<LinkedRequest>, 'close'>;

/**
 * Links earlier records of tool calls to their request once its row exists. Records written after the row find its id
 * themselves (`gateway_keep_invocations`).
 */
export function invocationLinks(pool: DatabasePool, onFault: (error: unknown) => void): LinkWriter {
  const { put, close } = writeBehindQueue<LinkedRequest>(
    ({ requestId, scope }) => [requestId, scope],
    (requests) => link(pool, requests),
    onFault,
  );
  return { logged: put, close };
}

async function link(pool: DatabasePool, requests: readonly LinkedRequest[]): Promise<void> {
  const rows = requests.map(({ requestLogId, requestId, scope }) => ({
    request_log_id: requestLogId,
    request_id: requestId,
    scope,
  }));
  const statement = sql.unsafe`select gateway_link_invocations(${storedJson(rows)}::json)`;
  await withinTime(pool, (connection) => connection.query(statement));
}
