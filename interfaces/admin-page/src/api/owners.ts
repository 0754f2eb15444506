import type { Choice } from '../ui/combobox.tsx';
import type { Search } from '../ui/use-search.ts';
import { api, type ResponseData, read } from './client.ts';
import { kindTitles } from './search.ts';

export type ApiKey = ResponseData<'/api/v1/admin/api-keys/{api_key_id}'>;
export type Person = ResponseData<'/api/v1/admin/users/{user_id}'>;
export type Team = ResponseData<'/api/v1/admin/teams/{team_id}'>;
export type ServiceAccount = ResponseData<'/api/v1/admin/service-accounts/{service_account_id}'>;
export type AdminToken = ResponseData<'/api/v1/admin/tokens'>['items'][number];

export type OwnerKind = ApiKey['owner_kind'];
export const ownerKinds = ['user', 'team', 'service_account'] as const satisfies readonly OwnerKind[];

/** Names of the owner kinds. */
export const ownerWords: Readonly<Record<OwnerKind, string>> = {
  user: 'person',
  team: 'team',
  service_account: 'service account',
};

export const readKey = (id: string, signal?: AbortSignal): Promise<ApiKey> =>
  read(
    api.GET('/api/v1/admin/api-keys/{api_key_id}', {
      params: { path: { api_key_id: id } },
      signal: signal ?? null,
    }),
  );

export const readPerson = (id: string, signal?: AbortSignal): Promise<Person> =>
  read(
    api.GET('/api/v1/admin/users/{user_id}', { params: { path: { user_id: id } }, signal: signal ?? null }),
  );

export const readTeam = (id: string, signal?: AbortSignal): Promise<Team> =>
  read(
    api.GET('/api/v1/admin/teams/{team_id}', { params: { path: { team_id: id } }, signal: signal ?? null }),
  );

export const readServiceAccount = (id: string, signal?: AbortSignal): Promise<ServiceAccount> =>
  read(
    api.GET('/api/v1/admin/service-accounts/{service_account_id}', {
      params: { path: { service_account_id: id } },
      signal: signal ?? null,
    }),
  );

/** How many owners a search shows. Typing more narrows the search. */
const searchSize = 8;

/** An owner that was found. The detail tells owners of the same name apart. */
export interface OwnerChoice extends Choice {
  readonly id: string;
}

export const ownerChoice = (id: string, title: string, detail: string): OwnerChoice => ({
  key: id,
  id,
  title,
  detail,
});

/**
 * Active owners of a kind whose name contains the text, or for a person also the e-mail address. An empty text finds
 * the newest.
 */
export const searchOwners =
  (kind: OwnerKind): Search<OwnerChoice> =>
  async (text, signal) => {
    const choices = await searches[kind](text, signal);
    return choices.length === 0 ? [] : [{ title: kindTitles[kind], choices }];
  };

const searches = {
  user: async (text, signal) => {
    const by = async (filter: { readonly email?: string; readonly name?: string }) => {
      const query = { ...filter, active: true, page_size: searchSize };
      return (await read(api.GET('/api/v1/admin/users', { params: { query }, signal }))).items;
    };
    const found =
      text === '' ? await by({}) : (await Promise.all([by({ email: text }), by({ name: text })])).flat();
    const unique = new Map(found.map((person) => [person.user_id, person]));
    return [...unique.values()]
      .slice(0, searchSize)
      .map(({ user_id: id, name, email }) => ownerChoice(id, name, email));
  },
  team: async (text, signal) => {
    const { items } = await read(api.GET('/api/v1/admin/teams', { params: { query: named(text) }, signal }));
    return items.map(({ team_id: id, name }) => ownerChoice(id, name, id));
  },
  service_account: async (text, signal) => {
    const { items } = await read(
      api.GET('/api/v1/admin/service-accounts', { params: { query: named(text) }, signal }),
    );
    return items.map(({ service_account_id: id, name, team_name: team }) =>
      ownerChoice(id, name, `${id}, of ${team}`),
    );
  },
} as const satisfies Record<
  OwnerKind,
  (text: string, signal: AbortSignal) => Promise<readonly OwnerChoice[]>
>;

const named = (text: string) => ({
  active: true,
  page_size: searchSize,
  ...(text === '' ? {} : { name: text }),
});

const modelPageSize = 200;
const maxModelPages = 10;

/** Ids of the enabled models, sorted: at most the first 2,000, and whether they are all. */
export async function readModelIds(
  signal?: AbortSignal,
): Promise<{ readonly ids: readonly string[]; readonly areAll: boolean }> {
  const ids: string[] = [];
  for (let page = 1; page <= maxModelPages; page += 1) {
    const { items, total } = await read(
      api.GET('/api/v1/admin/models', {
        params: { query: { enabled: true, page, page_size: modelPageSize } },
        signal: signal ?? null,
      }),
    );
    ids.push(...items.map(({ model_key: id }) => id));
    if (page * modelPageSize >= total) return { ids, areAll: true };
  }
  return { ids, areAll: false };
}
