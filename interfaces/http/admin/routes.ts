import type { KeyPorts } from '../../../application/admin/manage-keys.ts';
import type { CreateTokenPorts } from '../../../application/admin/manage-tokens.ts';
import type { TestMailPorts } from '../../../application/admin/send-test-mail.ts';
import type { AdminRoute } from './admin-route.ts';
import { type BudgetRoutePorts, budgetRoutes } from './budget-routes.ts';
import { type BudgetSpendRoutePorts, budgetSpendRoutes } from './budget-spend-routes.ts';
import { type EventRoutePorts, eventRoutes } from './event-routes.ts';
import { keyRoutes } from './key-routes.ts';
import { mailRoutes } from './mail-routes.ts';
import { type McpRoutePorts, mcpRoutes } from './mcp-routes.ts';
import { type McpServerRoutePorts, mcpServerRoutes } from './mcp-server-routes.ts';
import { type ModelRoutePorts, modelRoutes } from './model-routes.ts';
import type { OverviewPorts } from '../../../application/reports/report-overview.ts';
import { overviewRoutes, type SearchRoutePorts, searchRoutes } from './overview-routes.ts';
import { type RateLimitRoutePorts, rateLimitRoutes } from './rate-limit-routes.ts';
import { type ReportRoutePorts, reportRoutes } from './report-routes.ts';
import { type RequestLogRoutePorts, requestLogRoutes } from './request-log-routes.ts';
import { type ServiceAccountRoutePorts, serviceAccountRoutes } from './service-account-routes.ts';
import { type TeamRoutePorts, teamRoutes } from './team-routes.ts';
import { tokenRoutes } from './token-routes.ts';
import { type UserRoutePorts, userRoutes } from './user-routes.ts';

/** The ports of all route groups below. */
export type AdminRoutePorts = OverviewPorts &
  SearchRoutePorts &
  BudgetRoutePorts &
  BudgetSpendRoutePorts &
  RateLimitRoutePorts &
  EventRoutePorts &
  ModelRoutePorts &
  ReportRoutePorts &
  RequestLogRoutePorts &
  McpRoutePorts &
  McpServerRoutePorts &
  KeyPorts &
  UserRoutePorts &
  TeamRoutePorts &
  ServiceAccountRoutePorts &
  CreateTokenPorts &
  TestMailPorts;

/** Every admin endpoint except those of the session itself. */
export const adminRoutes = (ports: AdminRoutePorts): readonly AdminRoute[] => [
  ...overviewRoutes(ports),
  ...searchRoutes(ports),
  ...budgetRoutes(ports),
  ...budgetSpendRoutes(ports),
  ...rateLimitRoutes(ports),
  ...eventRoutes(ports),
  ...modelRoutes(ports),
  ...reportRoutes(ports),
  ...requestLogRoutes(ports),
  ...mcpRoutes(ports),
  ...mcpServerRoutes(ports),
  ...keyRoutes(ports),
  ...userRoutes(ports),
  ...teamRoutes(ports),
  ...serviceAccountRoutes(ports),
  ...tokenRoutes(ports),
  ...mailRoutes(ports),
];
