import type { OpenRoute } from './admin-endpoint.ts';
import { type OwnAccessRoutesPorts, ownAccessRoutes } from './own-access-routes.ts';
import { type SessionRoutesPorts, sessionRoutes } from './session-routes.ts';
import { type SignInRoutesPorts, signInRoutes } from './sign-in-routes.ts';

export interface OpenRoutesPorts extends SessionRoutesPorts, SignInRoutesPorts, OwnAccessRoutesPorts {}

/** Every route of the admin API that is not for platform admins alone: how people sign in, and their own access. */
export const openRoutes = (ports: OpenRoutesPorts): readonly OpenRoute[] => [
  ...sessionRoutes(ports),
  ...signInRoutes(ports),
  ...ownAccessRoutes(ports),
];
