import type { AdminRoute } from './admin-route.ts';
import { type BudgetRoutePorts, budgetRoutes } from './budget-routes.ts';
import { type ReportRoutePorts, reportRoutes } from './report-routes.ts';

/** What the parts below need. */
export type AdminRoutePorts = BudgetRoutePorts & ReportRoutePorts;

/** Every admin endpoint but those of the session itself. */
export const adminRoutes = (ports: AdminRoutePorts): readonly AdminRoute[] => [
  ...budgetRoutes(ports),
  ...reportRoutes(ports),
];
