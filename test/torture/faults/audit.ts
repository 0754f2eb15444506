import { auditSums } from '../../contract/budget-audit.ts';
import { loadFamilies } from '../../support/load-families.ts';
import type { Ending } from './replica.ts';
import { costOf, graceSecs, soundModels, unit, wholeLength } from './scene.ts';
import type { Sent } from './mixed-load.ts';
import type { World } from './world.ts';

/** The problems after a round as sentences; empty if there is none. */
export type Problems = readonly string[];

interface LedgerRow {
  readonly request_id: string;
  readonly pricing_status: string;
  readonly cost_picousd: string | null;
  readonly scope: string;
}

const byId = <A extends { readonly request_id: string }>(
  rows: readonly A[],
): ReadonlyMap<string, readonly A[]> => Map.groupBy(rows, ({ request_id }) => request_id);

const told = ({ requestId, owner, family, model, stream, replica, outcome }: Sent): string =>
  `${requestId.slice(0, 40)} (${owner}, ${family}, ${model.id}${stream ? ', streamed' : ''}, replica ${replica}: ` +
  `${outcome.fate} ${outcome.status ?? ''} ${outcome.code ?? ''} after ${Math.round(outcome.milliseconds)} ms)`;

/** Complete answers without all of their text, and requests without an answer. */
export function truncated(sent: readonly Sent[]): Problems {
  return sent.flatMap((each) => {
    const { family, model, stream, outcome } = each;
    if (outcome.fate === 'hung') return [`no answer: ${told(each)}`];
    if (outcome.fate !== 'complete') return [];
    const said = loadFamilies[family].said(outcome.text, stream);
    return said === undefined || said.length === wholeLength(model)
      ? []
      : [`complete, and ${said.length} of ${wholeLength(model)} characters: ${told(each)}`];
  });
}

/** Slower answers: the upstream may have reached its timeout between text and usage on a slow machine. */
const slowMs = 4000;

/** Error codes of requests without a ledger row. */
const unaccounted: ReadonlySet<string> = new Set([
  'budget_exceeded',
  'rate_limited',
  'duplicate_request_id',
  'upstream_error',
]);

/**
 * Checks that complete answers have their rows, that no row is duplicated, and that each has the cost of its
 * tokens. `mayLackUsage`: a reset of the upstream between text and usage results in a complete answer without
 * usage.
 */
export async function accounted(
  { database }: World,
  sent: readonly Sent[],
  mayLackUsage = false,
): Promise<Problems> {
  const known = sent.filter(({ requestId }) => requestId !== '');
  const ids = [...new Set(known.map(({ requestId }) => requestId))];
  const ledger = byId(
    await database.query<LedgerRow>(
      `select request_id, pricing_status, cost_picousd, ownership_scope_key as scope from usage_cost_events
       where request_id = any ($1)`,
      [ids],
    ),
  );
  const logs = byId(
    await database.query<{ request_id: string; rows: number; whole: number }>(
      `select request_id, count(*)::int as rows, count(*) filter (where status_code = 200)::int as whole
       from request_logs where request_id = any ($1) group by 1`,
      [ids],
    ),
  );
  return [...Map.groupBy(known, ({ requestId }) => requestId)].flatMap(([id, asked]) =>
    ofOneId(asked, ledger.get(id) ?? [], logs.get(id)?.[0] ?? { rows: 0, whole: 0 }, mayLackUsage),
  );
}

/** The problems of the rows of one request id, which may have been sent several times. */
function ofOneId(
  asked: readonly Sent[],
  rows: readonly LedgerRow[],
  log: { readonly rows: number; readonly whole: number },
  mayLackUsage: boolean,
): Problems {
  const complete = asked.filter(({ outcome }) => outcome.fate === 'complete');
  const [first] = [...complete, ...asked];
  if (first === undefined) return [];
  const isSlow = complete.some(({ outcome }) => outcome.milliseconds > slowMs);
  // The row may belong to an earlier try that was cut off: later requests with its id are duplicates.
  const wantsUsage = complete.length === asked.length && !mayLackUsage && !isSlow;
  // Sent once, and answered with a code for which no ledger row is written.
  const isRefused = asked.length === 1 && unaccounted.has(first.outcome.code ?? '');
  const found: readonly (readonly [is: boolean, what: string])[] = [
    [complete.length > 0 && rows.length === 0, 'complete, and not in the ledger'],
    [isRefused && rows.length > 0, 'refused, and in the ledger'],
    [rows.length > 1, `${rows.length} ledger rows`],
    [log.whole < complete.length, `${complete.length} complete answers, ${log.whole} log rows of success`],
    [log.rows > asked.length, `${log.rows} log rows for ${asked.length} requests`],
  ];
  return [
    ...found.flatMap(([is, what]) => (is ? [what] : [])),
    ...rows.flatMap((row) => costProblem(first, row, wantsUsage)),
  ].map((what) => `${what}: ${asked.map(told).join('; ')}`);
}

function costProblem({ model, family }: Sent, row: LedgerRow, wantsUsage: boolean): Problems {
  if (row.pricing_status === 'priced')
    return row.cost_picousd === String(costOf(model, family))
      ? []
      : [`costs ${row.cost_picousd} instead of ${costOf(model, family)}`];
  return wantsUsage && soundModels.includes(model) ? [`complete, and ${row.pricing_status}`] : [];
}

/** The spend of the owner with the tight budget, by day. */
export async function tightDays({ database }: World): Promise<ReadonlyMap<string, bigint>> {
  const rows = await database.query<{ day: string; spent: string }>(
    `select (u.occurred_at at time zone 'UTC')::date::text as day, sum(u.cost_picousd) as spent
     from usage_cost_events u join users on 'user:' || users.user_id = u.ownership_scope_key
     where users.name = 'tight' and u.pricing_status = 'priced' group by 1`,
  );
  return new Map(rows.map(({ day, spent }) => [day, BigInt(spent)]));
}

/** Sets the tight budget to about `answers` further answers on the present day. Returns the daily amount. */
export async function tighten(world: World, answers: number): Promise<bigint> {
  const { query } = world.database;
  const before = await tightDays(world);
  const [row] = await query<{ today: string; id: string }>(
    `select (gateway_now() at time zone 'UTC')::date::text as today, user_id as id from users where name = 'tight'`,
  );
  const cost =
    soundModels.reduce((sum, model) => sum + costOf(model, 'chat'), 0n) / BigInt(soundModels.length);
  const amount = ((before.get(row?.today ?? '') ?? 0n) + cost * BigInt(answers)) / unit + 1n;
  await query(`select gateway_set_budget($1, null, 'daily', $2, true, 'UTC', false, false)`, [
    row?.id,
    String(amount),
  ]);
  return amount * unit;
}

/** Days whose spend exceeds the amount of the hard budget in force. */
export async function overshot(
  world: World,
  amount: bigint,
  before: ReadonlyMap<string, bigint>,
): Promise<Problems> {
  return [...(await tightDays(world))].flatMap(([day, spent]) =>
    spent > amount && spent > (before.get(day) ?? 0n)
      ? [`the hard limit of ${amount} picodollars was passed on ${day}: ${spent}`]
      : [],
  );
}

/** Queries for rows that must not exist in the database. */
const orphans: Readonly<Record<string, string>> = {
  'ledger rows without a log row': `
    select u.request_id from usage_cost_events u
    where not exists (select from request_logs l where l.request_log_id = u.request_log_id)`,
  'log rows with more than one attempt': `
    select request_log_id from request_log_attempts group by 1 having count(*) > 1`,
  'log rows that are there twice': `select request_log_id from request_logs group by 1 having count(*) > 1`,
  'log rows that promise a payload without one, or have one and do not say so': `
    select request_log_id from request_logs l full join request_log_payloads p using (request_log_id)
    where coalesce(l.has_payload, false) <> (p.request_log_id is not null)`,
  'successes without a ledger row': `
    select l.request_id, l.metadata_json from request_logs l
    where l.status_code = 200 and not coalesce(l.metadata_json -> 'accounting' ? 'duplicate', false)
      and not exists (select from usage_cost_events u where u.request_log_id = l.request_log_id)`,
};

export async function wholeLedger({ database }: World): Promise<Problems> {
  const problems: string[] = [];
  for (const [name, text] of Object.entries(orphans)) {
    const rows = await database.query(`${text} limit 5`);
    if (rows.length > 0) problems.push(`${name}: ${JSON.stringify(rows)}`);
  }
  await auditSums(database.query).catch((error: unknown) => problems.push(String(error)));
  return problems;
}

/** From the signal on: the grace, the steps of the shutdown, and a margin for a busy machine. */
const endMs = graceSecs * 1000 + 15_000 + 7000;

/** Gateways must end on SIGTERM, in time, and with 0 unless the database was unavailable. */
export const endedWell = (endings: readonly Ending[], mayFail: boolean): Problems =>
  endings.flatMap(({ replica, asked, code, signal, milliseconds }) => {
    const how = `replica ${replica} ended with ${code ?? signal} after ${Math.round(milliseconds)} ms`;
    if (asked === undefined) return [`${how}, and nobody had told it to`];
    if (asked === 'SIGKILL') return [];
    if (milliseconds > endMs) return [`${how}, after SIGTERM: too late`];
    return code === 0 || (mayFail && code === 1) ? [] : [`${how}, after SIGTERM`];
  });

/** The problems at the end of idle gateways. */
export const endedQuietly = (endings: readonly Ending[], lines: readonly string[]): Problems => [
  ...endedWell(endings, false),
  ...badLines(lines),
  ...lines.filter((line) => line.includes('"msg":"draining"') && !line.includes('"in_flight":0')),
];

/** An idle gateway has its pool and reusable connections, and their number does not grow. */
const descriptorsMax = 150;

export const descriptors = (held: readonly number[]): Problems =>
  held
    .filter((count) => count > descriptorsMax)
    .map((count) => `a gateway with nothing to do holds ${count} descriptors`);

/** The message of a gateway that cannot start and exits; it is restarted until it can. */
const couldNotStart = /^The database (?:cannot be reached|was lost|accepts no writes): /;

/** Log lines that no fault of the environment explains. */
export const badLines = (lines: readonly string[]): Problems =>
  lines.filter(
    (line) =>
      line.includes('"msg":"defect"') ||
      (!line.startsWith('{') && !couldNotStart.test(line) && /\S/.test(line)),
  );
