import type { ComponentType } from 'react';

/** A page in the navigation rail, or one that is reached from another page. */
export interface PageTerms {
  readonly path: string;
  readonly title: string;
  /** `undefined`: not in the rail. */
  readonly group: 'Observe' | 'Manage' | undefined;
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
}

/** Every page, in the order of the rail. */
export const pages: readonly PageTerms[] = [
  { path: '/', title: 'Overview', group: 'Observe', load: () => import('../pages/overview.tsx') },
  {
    path: '/observability/request-logs',
    title: 'Requests',
    group: 'Observe',
    load: () => import('../pages/request-logs.tsx'),
  },
  {
    path: '/observability/request-logs/$requestLogId',
    title: 'Request',
    group: undefined,
    load: () => import('../pages/request-log.tsx'),
  },
  { path: '/spend', title: 'Spend', group: 'Observe', load: () => import('../pages/spend.tsx') },
  {
    path: '/observability/leaderboard',
    title: 'Leaderboard',
    group: 'Observe',
    load: () => import('../pages/leaderboard.tsx'),
  },
  {
    path: '/observability/harnesses',
    title: 'Harnesses',
    group: 'Observe',
    load: () => import('../pages/harnesses.tsx'),
  },
  {
    path: '/observability/mcp-invocations',
    title: 'MCP calls',
    group: 'Observe',
    load: () => import('../pages/mcp-invocations.tsx'),
  },
  { path: '/alerts', title: 'Alerts', group: 'Observe', load: () => import('../pages/alerts.tsx') },
  { path: '/audit', title: 'Audit', group: 'Observe', load: () => import('../pages/audit.tsx') },
  { path: '/keys', title: 'Keys', group: 'Manage', load: () => import('../pages/keys.tsx') },
  { path: '/people', title: 'People', group: 'Manage', load: () => import('../pages/people.tsx') },
  { path: '/teams', title: 'Teams', group: 'Manage', load: () => import('../pages/teams.tsx') },
  {
    path: '/service-accounts',
    title: 'Service accounts',
    group: 'Manage',
    load: () => import('../pages/service-accounts.tsx'),
  },
  { path: '/budgets', title: 'Budgets', group: 'Manage', load: () => import('../pages/budgets.tsx') },
  {
    path: '/rate-limits',
    title: 'Rate limits',
    group: 'Manage',
    load: () => import('../pages/rate-limits.tsx'),
  },
  { path: '/models', title: 'Models', group: 'Manage', load: () => import('../pages/models.tsx') },
  {
    path: '/mcp-servers',
    title: 'MCP servers',
    group: 'Manage',
    load: () => import('../pages/mcp-servers.tsx'),
  },
  { path: '/account', title: 'Your account', group: undefined, load: () => import('../pages/account.tsx') },
];
