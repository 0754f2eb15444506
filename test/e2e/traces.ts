import { setTimeout as sleep } from 'node:timers/promises';
import type { queries, TestGateway } from '../support/gateway.ts';

type Query = ReturnType<typeof queries>;
type Row = Record<string, unknown>;

/** All rows in the database of requests with one `x-request-id`. */
export interface Trace {
  readonly logs: readonly Row[];
  readonly attempts: readonly Row[];
  readonly tags: readonly Row[];
  readonly ledger: readonly Row[];
}

/** Reads traces by request id; rows are in the order of their writing. */
export const tracesIn =
  (query: Query) =>
  async (requestId: string): Promise<Trace> => {
    const logs = await query(
      'select * from request_logs where request_id = $1 order by occurred_at, request_log_id',
      [requestId],
    );
    const ids = logs.map((row) => row['request_log_id']);
    return {
      logs,
      attempts: await query(
        'select * from request_log_attempts where request_log_id = any ($1) order by started_at, attempt_number',
        [ids],
      ),
      tags: await query(
        'select tag_key, tag_value from request_log_tags where request_log_id = any ($1) order by 1',
        [ids],
      ),
      ledger: await query('select * from usage_cost_events where request_id = $1 order by occurred_at', [
        requestId,
      ]),
    };
  };

/** The outcome lines of one request id, in order. */
export const outcomesOf = (
  { log }: Pick<TestGateway, 'log'>,
  requestId: string,
): readonly Record<string, unknown>[] =>
  log.lines
    .filter(({ message, fields }) => message === 'request' && fields['request_id'] === requestId)
    .map(({ fields }) => fields);

/** Waits for the end of a request whose client sees no end: its outcome is its last record. */
export const whenOver = (gateway: Pick<TestGateway, 'log'>, requestId: string): Promise<object> =>
  eventually(() => outcomesOf(gateway, requestId)[0]);

/** Reads the traces of such requests, each after its end. */
export const finalTracesIn =
  (query: Query, gateway: () => Pick<TestGateway, 'log'>) =>
  async (requestId: string): Promise<Trace> => {
    await whenOver(gateway(), requestId);
    return tracesIn(query)(requestId);
  };

/** Retries until there is a result: for what happens after a client disconnect. */
export async function eventually<A>(
  ask: () => A | undefined | Promise<A | undefined>,
  withinMs = 60_000,
): Promise<A> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`it did not happen within ${withinMs} ms: ${ask.toString()}`);
    await sleep(15);
  }
}
