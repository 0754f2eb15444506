import type { Choice } from '../ui/combobox.tsx';
import type { Search } from '../ui/use-search.ts';
import { api, type ResponseData, read } from './client.ts';

type Found = ResponseData<'/api/v1/admin/search'>['items'][number];

export type HitKind = Found['kind'];

/** An object that was found. */
export interface Hit extends Choice {
  readonly kind: HitKind;
  readonly id: string;
}

/** Titles of the kinds. */
export const kindTitles: Readonly<Record<HitKind, string>> = {
  user: 'People',
  team: 'Teams',
  service_account: 'Service accounts',
  api_key: 'Keys',
  model: 'Models',
  provider: 'Providers',
  request_log: 'Requests',
  mcp_server: 'MCP servers',
};

/** The page of each kind. `open` in its address names one object. */
export const kindPaths = {
  user: '/people',
  team: '/teams',
  service_account: '/service-accounts',
  api_key: '/keys',
  model: '/models',
  mcp_server: '/mcp-servers',
} as const satisfies Partial<Record<HitKind, string>>;

/** Finds objects by id or name, grouped by kind in the order of each kind's first hit. An empty text finds nothing. */
export const searchThings =
  (kinds?: readonly HitKind[]): Search<Hit> =>
  async (text, signal) => {
    if (text === '') return [];
    const { items } = await read(api.GET('/api/v1/admin/search', { params: { query: { q: text } }, signal }));
    const wanted = items.filter(({ kind }) => kinds?.includes(kind) ?? true);
    return [...Map.groupBy(wanted, ({ kind }) => kind)].map(([kind, ofKind]) => ({
      title: kindTitles[kind],
      choices: ofKind.map(({ id, title, detail }) => ({ key: `${kind}:${id}`, kind, id, title, detail })),
    }));
  };
