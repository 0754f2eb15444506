import { Client } from 'pg';
import { costOf, type Try } from './load.ts';

/** An owner, and the maximum sum of the costs of its rows. */
export interface HardLimit {
  readonly owner: string;
  readonly picodollars: bigint;
}

interface LedgerRow {
  readonly request_id: string;
  readonly owner: string;
  readonly pricing_status: string;
  readonly cost_picousd: string | null;
}

interface Tables {
  readonly ledger: readonly LedgerRow[];
  /** Ids of requests in the request log. */
  readonly logged: ReadonlySet<string>;
}

export async function readTables(databaseUrl: string): Promise<Tables> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const ledger = await client.query<LedgerRow>(
      `select request_id, users.name as owner, pricing_status, cost_picousd
       from usage_cost_events join users using (user_id)`,
    );
    const logs = await client.query<{ request_id: string }>('select distinct request_id from request_logs');
    return { ledger: ledger.rows, logged: new Set(logs.rows.map(({ request_id }) => request_id)) };
  } finally {
    await client.end();
  }
}

/** The result of checking the tables against the outcomes of callers. */
export interface Found {
  /** The problems, one line each. */
  readonly problems: readonly string[];
  readonly rows: number;
  /** Rows of requests that the upstream answered and whose callers got a failure. */
  readonly unseen: number;
}

export function checkTables(
  { ledger, logged }: Tables,
  tries: readonly Try[],
  /** Ids of requests that reached the upstream. */
  upstream: ReadonlySet<string>,
  limits: readonly HardLimit[],
): Found {
  const problems: string[] = [];
  const tell = (what: string, ids: readonly string[]): void => {
    if (ids.length > 0) problems.push(`${ids.length} ${what}: ${ids.slice(0, 5).join(', ')}`);
  };
  const rowsOf = Map.groupBy(ledger, ({ request_id }) => request_id);
  const asked = new Map(tries.map((each) => [each.requestId, each]));
  const complete = new Set(tries.filter(({ fate }) => fate === 'complete').map(({ requestId }) => requestId));
  const ids = (rows: readonly LedgerRow[]): readonly string[] => rows.map(({ request_id }) => request_id);

  tell(
    'complete answers without a ledger row',
    [...complete].filter((id) => !rowsOf.has(id)),
  );
  tell(
    'complete answers without a log row',
    [...complete].filter((id) => !logged.has(id)),
  );
  tell(
    'requests with more than one ledger row',
    [...rowsOf].filter(([, rows]) => rows.length > 1).map(([id]) => id),
  );
  tell('ledger rows of requests that nobody sent', ids(ledger.filter((row) => !asked.has(row.request_id))));
  tell(
    'ledger rows of requests that never reached the upstream',
    ids(ledger.filter((row) => !upstream.has(row.request_id))),
  );
  const isWrong = ({ request_id, owner, pricing_status, cost_picousd }: LedgerRow): boolean => {
    const ask = asked.get(request_id);
    if (ask === undefined) return false;
    return (
      owner !== ask.owner.name || pricing_status !== 'priced' || BigInt(cost_picousd ?? -1) !== costOf(ask)
    );
  };
  tell('ledger rows with another owner or cost than was used', ids(ledger.filter(isWrong)));
  for (const { owner, picodollars } of limits) {
    const spent = ledger
      .filter((row) => row.owner === owner)
      .reduce((sum, { cost_picousd }) => sum + BigInt(cost_picousd ?? 0), 0n);
    if (spent > picodollars)
      problems.push(`${owner} spent ${spent} of ${picodollars} picodollars under a hard limit`);
  }
  const hung = tries.filter(({ fate }) => fate === 'hung').map(({ requestId }) => requestId);
  tell('requests without an answer in the time of a caller', hung);
  return {
    problems,
    rows: ledger.length,
    unseen: [...rowsOf.keys()].filter((id) => !complete.has(id)).length,
  };
}

/** A quantile of numbers; NaN if there are none. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The longest time without a complete answer, in milliseconds from `from` on, with the caller's pauses. */
export function longestWait(tries: readonly Try[], from: number): number {
  const answers = tries.filter(({ fate }) => fate === 'complete').map(({ endedAt }) => endedAt);
  let before = answers.findLast((at) => at <= from) ?? tries[0]?.startedAt ?? from;
  let longest = 0;
  for (const at of answers.filter((each) => each > from)) {
    longest = Math.max(longest, at - before);
    before = at;
  }
  return longest;
}
