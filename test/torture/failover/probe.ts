import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

/** The pause between commits, and the timeout of one. */
const pauseMs = 100;
const tryMs = 1_000;

/** A plain client that commits repeatedly, each time over a new connection: the outage of the database. */
export interface Probe {
  /** Milliseconds from `from` (of `performance.now`) to the first commit of a try that started after it. */
  readonly outageSince: (from: number) => number;
  readonly stop: () => Promise<void>;
}

export function startProbe(url: string): Probe {
  const commits: { readonly begun: number; readonly at: number }[] = [];
  const over = new AbortController();
  const once = async (): Promise<void> => {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: tryMs,
      query_timeout: tryMs,
    });
    client.on('error', () => undefined);
    const begun = performance.now();
    try {
      await client.connect();
      // A commit without a table, which waits for the synchronous standby like any other.
      await client.query("select pg_logical_emit_message(true, 'drill', 'probe')");
      commits.push({ begun, at: performance.now() });
    } catch {
      // The next try follows.
    } finally {
      // A frozen server does not close the connection.
      void client.end().catch(() => undefined);
    }
  };
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await once();
      await sleep(pauseMs);
    }
  };
  const ended = run();
  return {
    outageSince: (from) => (commits.find(({ begun }) => begun > from)?.at ?? Number.NaN) - from,
    stop: async () => {
      over.abort();
      await ended;
    },
  };
}
