import { hostname } from 'node:os';
import { bearerOf } from '../application/admin/manage-tokens.ts';
import { searchWithServers } from '../application/mcp/search-servers.ts';
import type { Clock } from '../application/ports/clock.ts';
import { isTimeZone } from '../infrastructure/config/formats.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { ServedConfig } from '../infrastructure/config/served-config.ts';
import { secrets } from '../infrastructure/key-secrets.ts';
import { adminCallLog, statementErrorLog, type Log } from '../infrastructure/logging.ts';
import { smtpMailer } from '../infrastructure/mail/smtp-mailer.ts';
import { adminEventsStore } from '../infrastructure/postgres/admin-events-store.ts';
import { adminTokensStore } from '../infrastructure/postgres/admin-tokens-store.ts';
import { alertsStore } from '../infrastructure/postgres/alerts-store.ts';
import { budgetsStore } from '../infrastructure/postgres/budgets-store.ts';
import { isDatabaseTrouble } from '../infrastructure/postgres/database-fault.ts';
import { keysStore } from '../infrastructure/postgres/keys-store.ts';
import { mcpInvocationsStore } from '../infrastructure/postgres/mcp-invocations-store.ts';
import { modelListStore } from '../infrastructure/postgres/model-list-store.ts';
import { overviewStore } from '../infrastructure/postgres/overview-store.ts';
import { rateLimitsStore } from '../infrastructure/postgres/rate-limits-store.ts';
import { distributionOf } from '../infrastructure/postgres/citus/cluster.ts';
import { reportStore } from '../infrastructure/postgres/report-store.ts';
import { requestLogsStore } from '../infrastructure/postgres/request-logs-store.ts';
import { searchStore } from '../infrastructure/postgres/search-store.ts';
import { serviceAccountsStore } from '../infrastructure/postgres/service-accounts-store.ts';
import { teamsStore } from '../infrastructure/postgres/teams-store.ts';
import { testMailsStore } from '../infrastructure/postgres/test-mails-store.ts';
import { usersStore } from '../infrastructure/postgres/users-store.ts';
import { catalogueInsight } from '../infrastructure/providers/catalogue-insight.ts';
import type { AdminRoute } from '../interfaces/http/admin/admin-route.ts';
import type { McpServerRoutePorts } from '../interfaces/http/admin/mcp-server-routes.ts';
import type { ModelRoutePorts } from '../interfaces/http/admin/model-routes.ts';
import { adminRoutes } from '../interfaces/http/admin/routes.ts';
import type { AdminApiPorts } from '../interfaces/http/app.ts';
import type { Gates } from '../interfaces/http/gates.ts';
import { configuredSetup, journalAttention } from './overview.ts';
import { mailReady } from './budget-alerting.ts';
import type { DatabasePools } from './database-pools.ts';
import { cleaned } from './fault-reports.ts';
import { rolesByProvider, signInUseCases } from './sign-in.ts';

const shownMcpServers = ({ config: { mcpServers }, persistable: { mcpUrls } }: ServedConfig) =>
  mcpServers.map((server) => ({ ...server, writtenUrl: mcpUrls.get(server.id) ?? '' }));

/**
 * The calls that platform admins may make, over their stores. Those marked `fromReplica` read from the replica, if
 * there is one.
 */
export const adminRoutesOf = (
  { pool, cluster, replica, config }: Omit<AdminFoundations, 'log'>,
  clock: Clock,
  testModel: ModelRoutePorts['testModel'],
  inspectMcpServer: McpServerRoutePorts['inspectMcpServer'],
): readonly AdminRoute[] => {
  const { forAdmins } = pool;
  const reads = replica?.pool ?? forAdmins;
  const distribution = distributionOf(cluster);
  const insight = catalogueInsight({ resolver: config.resolver, prices: config.prices, now: clock.now });
  return adminRoutes({
    overview: overviewStore(forAdmins, insight, distribution),
    journalRecords: () => journalAttention(config),
    configuredSetup: () => configuredSetup(config),
    search: searchWithServers(searchStore(forAdmins), () => config.loaded().config.mcpServers),
    modelList: modelListStore(forAdmins, insight),
    testModel,
    budgets: budgetsStore(forAdmins, mailReady(config)),
    budgetAlerts: alertsStore(forAdmins),
    adminEvents: adminEventsStore(forAdmins),
    rateLimits: rateLimitsStore(forAdmins),
    reports: reportStore(reads, distribution),
    requestLogs: requestLogsStore(reads, distribution),
    mcpInvocations: mcpInvocationsStore(reads),
    mcpServers: () => shownMcpServers(config.loaded()),
    inspectMcpServer,
    keys: keysStore(forAdmins),
    users: usersStore(forAdmins),
    teams: teamsStore(forAdmins),
    serviceAccounts: serviceAccountsStore(forAdmins),
    adminTokens: adminTokensStore(forAdmins),
    rolesByProvider: () => rolesByProvider(config.loaded().config.adminAuth),
    testMails: testMailsStore(forAdmins),
    mailer: smtpMailer(() => config.loaded().config.mail),
    mailReady: mailReady(config),
    whereFrom: () => config.loaded().config.server.publicBaseUrl ?? hostname(),
    secrets,
    clock,
    isTimeZone,
  });
};

export interface AdminFoundations extends DatabasePools {
  readonly config: LiveConfig;
  readonly log: Log;
}

/** The admin API: logins, sessions, and what platform admins may call. */
export function adminApi(
  { config, pool, replica, log }: AdminFoundations,
  clock: Clock,
  gates: Gates,
  routes: readonly AdminRoute[],
): AdminApiPorts {
  const report = statementErrorLog(log);
  return {
    ...signInUseCases(pool.forAdmins, config, log),
    bearerOf: bearerOf({ adminTokens: adminTokensStore(pool.forAdmins), secrets }),
    gates: gates.admin,
    pace: gates.pace,
    clock,
    routes,
    asOf: replica?.asOf,
    publicBaseUrl: () => config.loaded().config.server.publicBaseUrl,
    trustedProxies: () => config.loaded().config.server.trustedProxies,
    onEnded: adminCallLog(log, cleaned(config)),
    isDatabaseTrouble: (error) => {
      const trouble = isDatabaseTrouble(error);
      if (trouble) report(error);
      return trouble;
    },
  };
}
