import * as E from 'fp-ts/lib/Either.js';
import { hitKinds, type Search } from '../../../application/ports/search.ts';
import { type OverviewPorts, reportOverview } from '../../../application/reports/report-overview.ts';
import { arrayOf, choiceValue, objectOf, orNull, textValue } from '../answers.ts';
import { type AdminRoute, adminRoute } from './admin-route.ts';
import { overviewBody, presentOverview } from './overview-bodies.ts';
import { textUpTo } from './query.ts';

export interface SearchRoutePorts {
  readonly search: Search;
}

const root = '/api/v1/admin';

/** No name is longer. A request id may be, and is found through the list of request logs. */
const maxSearchChars = 200;

const hit = objectOf({
  kind: choiceValue(hitKinds),
  id: textValue,
  title: textValue,
  detail: orNull(textValue),
});

/** The first page that an admin sees. */
export const overviewRoutes = (ports: OverviewPorts): readonly AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: `${root}/overview`,
    summary: 'What happened in the last 24 hours, and what needs attention.',
    answer: overviewBody,
    handle: async () => E.right(presentOverview(await reportOverview(ports)())),
  }),
];

/** Finds anything by its id or name. */
export const searchRoutes = ({ search }: SearchRoutePorts): readonly AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: `${root}/search`,
    summary:
      'People, keys, teams, service accounts, models, providers, request logs and MCP servers by an id or a name.',
    query: { q: textUpTo(maxSearchChars) },
    answer: objectOf({ items: arrayOf(hit) }),
    handle: async ({ query }) => {
      const found = await search.find(query.q);
      return E.right({
        items: found.map(({ kind, id, title, detail }) => ({
          kind,
          id,
          title,
          detail: detail ?? null,
        })),
      });
    },
  }),
];
