import type { Choice } from '../ui/combobox.tsx';
import type { Search } from '../ui/use-search.ts';
import { api, type Got, read } from './client.ts';

type Found = Got<'/api/v1/admin/search'>['items'][number];

export type HitKind = Found['kind'];

/** A thing that was found. */
export interface Hit extends Choice {
  readonly kind: HitKind;
  readonly id: string;
}

/** What things of a kind are called, together. */
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

/** Where each kind of thing has its page, on which `open` names one of them. */
export const kindPaths = {
  user: '/people',
  team: '/teams',
  service_account: '/service-accounts',
  api_key: '/keys',
  model: '/models',
  mcp_server: '/mcp-servers',
} as const satisfies Partial<Record<HitKind, string>>;

/**
 * What has this id or name, by kind, in the order in which the first of each was found; nothing before anything is
 * typed.
 */
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
