import type { AdminRoute } from './admin-route.ts';
import { type BudgetRoutePorts, budgetRoutes } from './budget-routes.ts';
import { type EventRoutePorts, eventRoutes } from './event-routes.ts';
import { type McpRoutePorts, mcpRoutes } from './mcp-routes.ts';
import { type RateLimitRoutePorts, rateLimitRoutes } from './rate-limit-routes.ts';
import { type ReportRoutePorts, reportRoutes } from './report-routes.ts';
import { type RequestLogRoutePorts, requestLogRoutes } from './request-log-routes.ts';

/** What the parts below need. */
export type AdminRoutePorts = BudgetRoutePorts &
  RateLimitRoutePorts &
  EventRoutePorts &
  ReportRoutePorts &
  RequestLogRoutePorts &
  McpRoutePorts;

/** Every admin endpoint but those of the session itself. */
export const adminRoutes = (ports: AdminRoutePorts): readonly AdminRoute[] => [
  ...budgetRoutes(ports),
  ...rateLimitRoutes(ports),
  ...eventRoutes(ports),
  ...reportRoutes(ports),
  ...requestLogRoutes(ports),
  ...mcpRoutes(ports),
];
