import { rm } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { type DatabasePool, sql } from 'slonik';
import type { CatalogueInsight } from '../application/ports/model-list.ts';
import type { Reports } from '../application/ports/reports.ts';
import { reportLeaderboard } from '../application/reports/report-leaderboard.ts';
import { daysWindow, rangeWindow } from '../domain/reports/report-window.ts';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { ledgerAuditStore } from '../infrastructure/postgres/ledger-audit-store.ts';
import { migrate } from '../infrastructure/postgres/migrate.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { overviewStore } from '../infrastructure/postgres/overview-store.ts';
import * as ask from '../infrastructure/postgres/report-statements.ts';
import { reportStore } from '../infrastructure/postgres/report-store.ts';
import { overviewRoutes } from '../interfaces/http/admin/overview-routes.ts';
import { reportRoutes } from '../interfaces/http/admin/report-routes.ts';
import { givenNumber } from '../test/support/given-number.ts';
import { measureDryRuns } from './data-dry-runs.ts';
import { measureLists, showSizes } from './data-lists.ts';
import { fill, grow } from './data-rows.ts';
import { answerOf, quietest } from './quietest.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

/**
 * Measures each report, each list of request logs and the dry run of a budget with this many ledger and log rows over
 * 31 days: `node bench/data.ts [ROWS …]`. Each is measured from its query parameters to its JSON text. The plans of the
 * reports' statements are printed after them.
 */
const sizes =
  process.argv.length > 2
    ? process.argv.slice(2).map((_, index) => givenNumber(index + 1, 500_000))
    : [500_000, 5_000_000];
const runs = 60;
const rounds = 3;
/** For the 95th percentile. */
const limitMs = 300;

const migrations = path.join(import.meta.dirname, '..', 'migrations');

const cases: readonly (readonly [path: string, query: string])[] = [
  ['/api/v1/admin/spend/report', 'days=7'],
  ['/api/v1/admin/spend/report', 'days=30'],
  ['/api/v1/admin/spend/report', 'days=30&owner_kind=user'],
  ['/api/v1/admin/spend/days', 'days=30'],
  ['/api/v1/admin/observability/leaderboard', 'range=7d'],
  ['/api/v1/admin/observability/leaderboard', 'range=31d'],
  ['/api/v1/admin/observability/harness-usage', 'range=7d'],
  ['/api/v1/admin/observability/harness-usage', 'range=31d'],
];

const out = (line: string): void => void process.stdout.write(`${line}\n`);

async function measure(reports: Reports): Promise<boolean> {
  let quickEnough = true;
  for (const [wanted, query] of cases) {
    const ask = () => answerOf(reportRoutes({ reports }), wanted, query);
    const { p50, p95 } = await quietest(rounds, runs, ask);
    const bytes = (await ask()).length;
    quickEnough &&= p95 < limitMs;
    const verdict = p95 < limitMs ? '' : `  MORE THAN ${limitMs} ms`;
    out(`  ${wanted}?${query}: p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, ${bytes} bytes${verdict}`);
  }
  return quickEnough;
}

/** For the 95th percentile. The first overview of a process reads a day of rows, later ones only new rows. */
const overviewLimitMs = 100;

const noRoutes: CatalogueInsight = {
  ofRoute: () => {
    throw new TypeError('there are no routes');
  },
  ofProvider: () => {
    throw new TypeError('there are no providers');
  },
};

async function measureOverview(pool: DatabasePool): Promise<boolean> {
  const routes = overviewRoutes({
    overview: overviewStore(pool, noRoutes, 'none'),
    journalRecords: async () => ({ count: 0, isLowerBound: false, items: [] }),
    configuredSetup: () => ({ mailConfigured: false, telemetryConfigured: false, ownDatabase: false }),
  });
  const ask = () => answerOf(routes, '/api/v1/admin/overview', '');
  const first = await quietest(1, 1, ask);
  const { p50, p95 } = await quietest(1, runs, ask);
  const verdict = p95 < overviewLimitMs ? '' : `  MORE THAN ${overviewLimitMs} ms`;
  out(
    `  overview: first ${first.p50.toFixed(0)} ms, p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms${verdict}`,
  );
  return p95 < overviewLimitMs;
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): readonly string[] => [
  [plan['Node Type'], plan['Index Name'] ?? plan['Relation Name']]
    .filter((each) => each !== undefined)
    .join(' '),
  ...(plan.Plans ?? []).flatMap(nodesOf),
];

async function showPlans(pool: DatabasePool, reports: Reports): Promise<void> {
  const { now } = await pool.one(ask.moment());
  const month = rangeWindow('31d', now);
  const board = await reportLeaderboard(reports)('31d');
  const users = board.leaders.map(({ userId }) => userId);
  const statements = {
    'oldest log': ask.moment(),
    'spend, 30 days': ask.ledgerUsage(daysWindow(30, now), 'all', 'none'),
    'leaderboard, 7 days': ask.userModelUsage(rangeWindow('7d', now)),
    'leaderboard, 31 days': ask.userModelUsage(month),
    'its chart': ask.userSpend(month, users.slice(0, 5)),
    'its averages': ask.toolCounts(month, users),
    'harness usage, 31 days': ask.harnessCounts(month),
  };
  for (const [name, statement] of Object.entries(statements)) {
    const began = performance.now();
    await pool.any(sql.unsafe`${statement}`);
    const took = performance.now() - began;
    const plan = (await pool.oneFirst(sql.unsafe`explain (format json) ${statement}`)) as readonly {
      readonly Plan: Plan;
    }[];
    const nodes = plan.flatMap((each) => nodesOf(each.Plan));
    out(`  ${name} (${took.toFixed(0)} ms): ${nodes.join(' ◂ ')}`);
  }
}

const folder = await sweptFolder('bench-data');
const database = await startEmbeddedPostgres({
  dataDir: path.join(folder, 'database'),
  testing: true,
  settings: { max_wal_size: '4GB', synchronous_commit: 'off' },
});
try {
  await migrate(database.url, migrations, 'none');
  await fill(database.url);
  const pool = await openPool(database.url, 2);
  const reports = reportStore(pool, 'none');
  for (const rows of sizes) {
    await grow(database.url, rows);
    const counts = await pool.one(sql.unsafe`
      select (select count(*) from usage_rollups)::int as usage, (select count(*) from harness_rollups)::int as harness,
             (select count(*) from tool_cardinality_rollups)::int as tools,
             (select count(*) from request_logs)::int as logs`);
    out(`${rows} ledger rows; rows of other tables: ${JSON.stringify(counts)}`);
    if (!(await measure(reports))) process.exitCode = 1;
    if (!(await measureOverview(pool))) process.exitCode = 1;
    out(`  load average of this minute: ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`);
    await showPlans(pool, reports);
    if (!(await measureLists(pool, out))) process.exitCode = 1;
    if (!(await measureDryRuns(pool, out))) process.exitCode = 1;
    await showSizes(pool, out);
    const began = performance.now();
    const wrong = await ledgerAuditStore(pool).rollupDifferences(10);
    out(`  rollups verified in ${((performance.now() - began) / 1000).toFixed(1)} s, ${wrong.length} differ`);
    if (wrong.length > 0) process.exitCode = 1;
  }
  await pool.end();
} finally {
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
