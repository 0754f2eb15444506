import type { DatabasePool } from 'slonik';
import type { Clock } from '../application/ports/clock.ts';
import { isTimeZone } from '../infrastructure/config/formats.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import { adminCallLog, databaseFaultLog, type Log } from '../infrastructure/logging.ts';
import { adminEventsStore } from '../infrastructure/postgres/admin-events-store.ts';
import { alertsStore } from '../infrastructure/postgres/alerts-store.ts';
import { budgetsStore } from '../infrastructure/postgres/budgets-store.ts';
import { databaseFault, isDatabaseTrouble } from '../infrastructure/postgres/database-fault.ts';
import { mcpInvocationsStore } from '../infrastructure/postgres/mcp-invocations-store.ts';
import { reportStore } from '../infrastructure/postgres/report-store.ts';
import { requestLogsStore } from '../infrastructure/postgres/request-logs-store.ts';
import type { AdminRoute } from '../interfaces/http/admin/admin-route.ts';
import { adminRoutes } from '../interfaces/http/admin/routes.ts';
import type { AdminApiPorts } from '../interfaces/http/app.ts';
import type { Gates } from '../interfaces/http/gates.ts';
import { mailReady } from './settling.ts';
import { signInUseCases } from './sign-in.ts';

/** The calls that are open to platform admins, over their stores. */
export const adminRoutesOf = (pool: DatabasePool, config: LiveConfig): readonly AdminRoute[] =>
  adminRoutes({
    budgets: budgetsStore(pool, mailReady(config)),
    budgetAlerts: alertsStore(pool),
    adminEvents: adminEventsStore(pool),
    reports: reportStore(pool),
    requestLogs: requestLogsStore(pool),
    mcpInvocations: mcpInvocationsStore(pool),
    isTimeZone,
  });

interface AdminFoundations {
  readonly config: LiveConfig;
  readonly pool: DatabasePool;
  readonly log: Log;
}

/** The admin API: logins, sessions, and what platform admins may call. */
export function adminApi(
  { config, pool, log }: AdminFoundations,
  clock: Clock,
  gates: Gates,
  routes: readonly AdminRoute[],
): AdminApiPorts {
  return {
    ...signInUseCases(pool, config, log),
    gates: gates.admin,
    pace: gates.pace,
    clock,
    routes,
    publicBaseUrl: () => config.loaded().config.server.publicBaseUrl,
    trustedProxies: () => config.loaded().config.server.trustedProxies,
    onEnded: adminCallLog(log),
    isDatabaseTrouble: (error) => {
      const trouble = isDatabaseTrouble(error);
      if (trouble) databaseFaultLog(log)(databaseFault(error), error);
      return trouble;
    },
  };
}
