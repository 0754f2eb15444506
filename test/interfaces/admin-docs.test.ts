import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { adminActions, adminTargetKinds } from '../../domain/identity/admin-event.ts';
import { type AdminRoutePorts, adminRoutes } from '../../interfaces/http/admin/routes.ts';
import { type OpenRoutesPorts, openRoutes } from '../../interfaces/http/admin/open-routes.ts';

const doc = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'admin-api.md'), 'utf8');

/** Ports that no route uses before it is called. */
const none = {} as AdminRoutePorts & OpenRoutesPorts;

/** In the form of the page: `GET /api/v1/…/{user_id}`. */
const callOf = ({ method, path: pattern }: { readonly method: string; readonly path: string }): string =>
  `${method} ${pattern.replaceAll(/:(\w+)/g, '{$1}')}`;

describe('docs/admin-api.md', () => {
  it('lists every call of the admin API, and no other', () => {
    const told = [...doc.matchAll(/^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \|/gm)].map(
      ([, call]) => call,
    );
    const routes = [...openRoutes(none), ...adminRoutes(none)];
    expect(told).toHaveLength(routes.length);
    expect(new Set(told)).toEqual(new Set(routes.map(callOf)));
  });

  it('lists every action and target of events', () => {
    const told = doc.slice(doc.indexOf('| `action` |'));
    for (const each of [...adminActions, ...adminTargetKinds]) expect(told).toContain(`\`${each}\``);
  });
});
