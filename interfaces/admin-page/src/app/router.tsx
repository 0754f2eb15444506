import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { Empty, Waiting } from '../ui/states.tsx';
import type { Filters } from './address.ts';
import { FailedPage } from './failed-page.tsx';
import { loaded } from './load-page.ts';
import { pages } from './pages.ts';
import { restoreRequestedPage } from './refused-sign-in.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({
  component: Shell,
  validateSearch: (search: Record<string, unknown>): Filters =>
    Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)])),
  notFoundComponent: () => (
    <Empty title="Page not found">
      <p>The navigation lists all pages.</p>
    </Empty>
  ),
});

const routes = pages.map(({ path, load }) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(() => loaded(load), 'Page'),
  }),
);

// The router reads the address as it is created.
restoreRequestedPage();

/** Instead of a page whose code is being loaded: the one before it would seem to be the one in the address (rule 52.22). */
const PendingPage = () => <Waiting for="the page" />;

/** Values in the address stay text: `page=2` is readable, and a filter made of digits does not become a number. */
export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/admin',
  defaultPreload: 'intent',
  defaultErrorComponent: FailedPage,
  defaultPendingComponent: PendingPage,
  // `Waiting` adds a moment of its own, so that nothing flickers.
  defaultPendingMs: 0,
  defaultPendingMinMs: 0,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(
      Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ).toString();
    return text === '' ? '' : `?${text}`;
  },
});
