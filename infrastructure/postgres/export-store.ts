import * as t from 'io-ts';
import { type CommonQueryMethods, sql } from 'slonik';
import type { ExportSource } from '../../application/ports/export.ts';
import {
  type ExportColumn,
  exportColumns,
  type ExportRow,
  type ExportSubject,
} from '../../domain/export/export-columns.ts';
import { type ExportDay, windowOfDay } from '../../domain/export/export-day.ts';
import type { ExportTotals } from '../../domain/export/manifest.ts';
import { withAdvisoryLock } from './advisory-lock.ts';
import { int8, nullable } from './codecs.ts';
import { openPool, row } from './pool.ts';
import { databaseNow } from './purge-store.ts';
import { longTransaction, longStatementMs } from './long-transaction.ts';
import { anyTime, answeredWithin } from './within-time.ts';

/** Rows of one page. With request ids and user agents as long as headers may be, that is 64 MB. */
const pageRows = 1000;

/**
 * `request_log_id` begins with the arrival time of the request, and `occurred_at` is the time of its settlement. Most
 * rows of a day therefore have ids of this day or of the hours around it, and are read in the order of their key.
 */
const aroundMs = 3 * 3_600_000;

/** Number of the advisory lock that an export holds: two concurrent exports would mix objects of two readings. */
const exportLock = 4_071_771_015;

/** Pages and lookups are short. */
const answerMs = 15_000;

const totalsRow = t.type({ rows: int8, cost: nullable(int8) });
const textRow = t.record(t.string, nullable(t.string));

/** The rows of one table as text, by day. */
const exportSource = (connection: CommonQueryMethods, subject: ExportSubject): ExportSource => ({
  now: () => databaseNow(connection, answerMs),
  totalsOf: (day) => (subject === 'ledger' ? ledgerTotals(connection, day) : logTotals(connection, day)),
  rowsOf: (day) => rowsOf(connection, subject, day),
  holds: ({ requestLogId, scope }) => {
    const statement = sql.unsafe`
      select 1 from ${tables[subject]}
      where request_log_id = ${requestLogId}::uuid and ownership_scope_key = ${scope}
    `;
    return answeredWithin(connection.exists(statement), answerMs);
  },
});

const tables = {
  ledger: sql.fragment`usage_cost_events`,
  'request-logs': sql.fragment`request_logs`,
} as const satisfies Record<ExportSubject, unknown>;

const timesOf = (day: ExportDay): readonly [from: string, until: string] => {
  const { from, until } = windowOfDay(day);
  return [from.toISOString(), until.toISOString()];
};

/** Totals from the rollups, which settlement maintains: an independent sum against which the rows read are checked. */
async function ledgerTotals(connection: CommonQueryMethods, day: ExportDay): Promise<ExportTotals> {
  const [from, until] = timesOf(day);
  const statement = sql.type(row(totalsRow))`
    select coalesce(sum(request_count), 0) as rows, coalesce(sum(counted_picousd), 0) as cost from usage_rollups
    where bucket_start >= ${from}::timestamptz and bucket_start < ${until}::timestamptz
  `;
  const { rows, cost } = await answeredWithin(connection.one(statement), answerMs);
  return { rows: Number(rows), cost: cost ?? undefined };
}

const logTotals = (connection: CommonQueryMethods, day: ExportDay): Promise<ExportTotals> =>
  longTransaction(connection, async (transaction) => {
    const [from, until] = timesOf(day);
    await transaction.query(sql.unsafe`set local max_parallel_workers_per_gather = 0`);
    const statement = sql.type(row(totalsRow))`
      select count(*) as rows, null as cost from request_logs
      where occurred_at >= ${from}::timestamptz and occurred_at < ${until}::timestamptz
    `;
    const { rows } = await answeredWithin(transaction.one(statement), longStatementMs + answerMs);
    return { rows: Number(rows), cost: undefined };
  });

/** First the rows whose ids are of about the day, then the few with other ids, each in the order of its key. */
async function* rowsOf(
  connection: CommonQueryMethods,
  subject: ExportSubject,
  day: ExportDay,
): AsyncGenerator<readonly ExportRow[]> {
  const columns = exportColumns[subject];
  for (const ids of [idsAround(day), idsElsewhere(day)]) {
    let after: After;
    for (;;) {
      const found = await answeredWithin(readPage(connection, subject, columns, ids(after)), answerMs);
      const last = found.at(-1);
      if (last === undefined) break;
      yield found.map((each) => columns.map(({ name }) => each[name] ?? null));
      if (found.length < pageRows) break;
      after = [last['request_log_id'] ?? '', last['ownership_scope_key'] ?? ''];
    }
  }
}

type After = readonly [id: string, scope: string] | undefined;

/** The condition of a page's rows, and the planner settings to turn off for it, whatever the table's statistics say. */
interface PageOf {
  readonly condition: ReturnType<typeof sql.fragment>;
  readonly without: readonly string[];
}

/** No index is used for a condition with `is true`; only the primary key is left, which returns the rows in order. */
const idsAround =
  (day: ExportDay) =>
  (after: After): PageOf => {
    const [from, until] = timesOf(day);
    const start =
      after === undefined
        ? sql.fragment`request_log_id >= ${lowestId(day)}`
        : sql.fragment`(request_log_id, ownership_scope_key) > (${after[0]}::uuid, ${after[1]})`;
    return {
      condition: sql.fragment`
        ${start} and request_log_id < ${highestId(day)}
        and (occurred_at >= ${from}::timestamptz and occurred_at < ${until}::timestamptz) is true
      `,
      without: ['enable_seqscan', 'enable_bitmapscan', 'enable_sort'],
    };
  };

/** Here only the index on `occurred_at` is left. */
const idsElsewhere =
  (day: ExportDay) =>
  (after: After): PageOf => {
    const [from, until] = timesOf(day);
    const behind =
      after === undefined
        ? sql.fragment`true`
        : sql.fragment`((request_log_id, ownership_scope_key) > (${after[0]}::uuid, ${after[1]})) is true`;
    return {
      condition: sql.fragment`
        occurred_at >= ${from}::timestamptz and occurred_at < ${until}::timestamptz
        and (request_log_id < ${lowestId(day)} or request_log_id >= ${highestId(day)}) is true and ${behind}
      `,
      without: ['enable_seqscan'],
    };
  };

const lowestId = (day: ExportDay) => idFloor(windowOfDay(day).from.getTime() - aroundMs);
const highestId = (day: ExportDay) => idFloor(windowOfDay(day).until.getTime() + aroundMs);
const idFloor = (at: number) => sql.fragment`log_id_floor(${new Date(at).toISOString()}::timestamptz)`;

const readPage = (
  connection: CommonQueryMethods,
  subject: ExportSubject,
  columns: readonly ExportColumn[],
  { condition, without }: PageOf,
) =>
  connection.transaction(async (planned) => {
    const settings = without.map((name) => sql.fragment`set_config(${name}, 'off', true)`);
    await planned.query(sql.unsafe`select ${sql.join(settings, sql.fragment`, `)}`);
    return planned.any(sql.type(row(textRow))`
      select ${sql.join(columns.map(asText), sql.fragment`, `)} from ${tables[subject]} l
      where ${condition} order by l.request_log_id, l.ownership_scope_key limit ${pageRows}
    `);
  });

/** As PostgreSQL prints it: every digit, and microseconds. */
function asText({ name, kind }: ExportColumn) {
  const column = sql.identifier([name]);
  if (name === 'bespoke_tags')
    return sql.fragment`
      (select jsonb_object_agg(g.tag_key, g.tag_value)::text from request_log_tags g
       where g.request_log_id = l.request_log_id and g.ownership_scope_key = l.ownership_scope_key) as ${column}
    `;
  if (kind === 'instant')
    return sql.fragment`to_char(l.${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${column}`;
  return sql.fragment`l.${column}::text as ${column}`;
}

/** Exports over a connection of its own, outside the shared pool. Returns `undefined` if another export is running. */
export async function exportUnderLock<A>(
  url: string,
  subject: ExportSubject,
  run: (source: ExportSource) => Promise<A>,
): Promise<A | undefined> {
  const pool = await openPool(url, 1, anyTime);
  try {
    return await withAdvisoryLock(url, exportLock, () =>
      pool.connect((connection) => run(exportSource(connection, subject))),
    );
  } finally {
    // Also ends an export whose lock was lost.
    await pool.end();
  }
}
