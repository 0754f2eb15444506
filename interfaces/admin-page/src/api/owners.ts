import type { Choice } from '../ui/combobox.tsx';
import type { Search } from '../ui/use-search.ts';
import { api, type ResponseData, read } from './client.ts';
import { kindTitles, searchThings } from './search.ts';

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
 * Active owners of a kind whose name or id contains the text, or for a person the e-mail address or the whole id. An
 * empty text finds the newest (rule 52.26).
 */
export const searchOwners =
  (kind: OwnerKind): Search<OwnerChoice> =>
  async (text, signal) => {
    const { named, read: readOne } = searches[kind];
    const [found, hits] = await Promise.all([named(text, signal), searchThings([kind])(text, signal)]);
    const known = new Set(found.map(({ id }) => id));
    // The lists, which know who is active, are searched by name only.
    const withId = hits
      .flatMap(({ choices }) => choices)
      .filter(({ id }) => !known.has(id) && id.toLowerCase().includes(text.toLowerCase()));
    const others = await Promise.all(withId.map(({ id }) => readOne(id, signal)));
    const choices = [...others.filter((other) => other !== undefined), ...found].slice(0, searchSize);
    return choices.length === 0 ? [] : [{ title: kindTitles[kind], choices }];
  };

const personChoice = ({ user_id: id, name, email }: Person): OwnerChoice => ownerChoice(id, name, email);
const teamChoice = ({ team_id: id, name }: Team): OwnerChoice => ownerChoice(id, name, id);
const accountChoice = ({ service_account_id: id, name, team_name: team }: ServiceAccount): OwnerChoice =>
  ownerChoice(id, name, `${id}, of ${team}`);

const ifActive = <O extends { readonly active: boolean }>(
  owner: O,
  choiceOf: (owner: O) => OwnerChoice,
): OwnerChoice | undefined => (owner.active ? choiceOf(owner) : undefined);

interface OwnerSearch {
  /** Active ones by name. */
  readonly named: (text: string, signal: AbortSignal) => Promise<readonly OwnerChoice[]>;
  /** One by id, if it is active. */
  readonly read: (id: string, signal: AbortSignal) => Promise<OwnerChoice | undefined>;
}

const searches: Readonly<Record<OwnerKind, OwnerSearch>> = {
  user: {
    named: async (text, signal) => {
      const by = async (filter: { readonly email?: string; readonly name?: string }) => {
        const query = { ...filter, active: true, page_size: searchSize };
        return (await read(api.GET('/api/v1/admin/users', { params: { query }, signal }))).items;
      };
      const found =
        text === '' ? await by({}) : (await Promise.all([by({ email: text }), by({ name: text })])).flat();
      const unique = new Map(found.map((person) => [person.user_id, person]));
      return [...unique.values()].map(personChoice);
    },
    read: async (id, signal) => ifActive(await readPerson(id, signal), personChoice),
  },
  team: {
    named: async (text, signal) => {
      const query = namedAs(text);
      return (await read(api.GET('/api/v1/admin/teams', { params: { query }, signal }))).items.map(
        teamChoice,
      );
    },
    read: async (id, signal) => ifActive(await readTeam(id, signal), teamChoice),
  },
  service_account: {
    named: async (text, signal) => {
      const query = namedAs(text);
      const { items } = await read(api.GET('/api/v1/admin/service-accounts', { params: { query }, signal }));
      return items.map(accountChoice);
    },
    read: async (id, signal) => ifActive(await readServiceAccount(id, signal), accountChoice),
  },
};

const namedAs = (text: string) => ({
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
