import type { OpenRoute } from './admin-endpoint.ts';
import { type OwnAccessRoutesPorts, ownAccessRoutes } from './own-access-routes.ts';
import { type SessionRoutesPorts, sessionRoutes } from './session-routes.ts';
import { type SignInRoutesPorts, signInRoutes } from './sign-in-routes.ts';

export interface OpenRoutesPorts extends SessionRoutesPorts, SignInRoutesPorts, OwnAccessRoutesPorts {}

/** The routes of the admin API that are not only for platform admins: sign-in, and people's own access. */
export const openRoutes = (ports: OpenRoutesPorts): readonly OpenRoute[] => [
  ...sessionRoutes(ports),
  ...signInRoutes(ports),
  ...ownAccessRoutes(ports),
];
