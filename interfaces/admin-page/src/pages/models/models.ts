import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { grouped } from '../../ui/amounts.ts';
import { api, type ResponseData, read } from '../../api/client.ts';

export type Model = ResponseData<'/api/v1/admin/models'>['items'][number];
export type Route = Model['routes'][number];
export type Provider = ResponseData<'/api/v1/admin/providers'>['items'][number];
export type LastDay = Model['last_day'];

export const modelsKey = ['models'] as const;
export const providersKey = ['providers'] as const;

/** In the order in which a request takes them: by priority, then by position in the file. */
export const byPriority = (routes: readonly Route[]): readonly Route[] =>
  routes.toSorted((one, other) => one.priority - other.priority || one.position - other.position);

/** The routes that a request can take. The others are disabled. */
export const usable = (routes: readonly Route[]): readonly Route[] =>
  byPriority(routes).filter(
    ({ enabled, provider_enabled: isProviderEnabled }) => enabled && isProviderEnabled,
  );

export const capabilityTitles: Readonly<Record<keyof Route['capabilities'], string>> = {
  chat_completions: 'chat',
  responses: 'responses',
  embeddings: 'embeddings',
  stream: 'streams',
  tools: 'tools',
  vision: 'vision',
  json_schema: 'JSON schema',
};

const capabilityNames = [
  'chat_completions',
  'responses',
  'embeddings',
  'stream',
  'tools',
  'vision',
  'json_schema',
] as const satisfies readonly (keyof Route['capabilities'])[];

export const capabilitiesOf = ({ capabilities }: Route) =>
  capabilityNames.map((name) => ({ name, title: capabilityTitles[name], ...capabilities[name] }));

/** “0.15 in, 0.60 out”, in USD per million tokens. */
export const priceText = ({ price }: Route): string | undefined =>
  price === null
    ? undefined
    : `${grouped(price.input_usd_per_million)} in, ${grouped(price.output_usd_per_million)} out`;

export const useModel = (id: string) =>
  useQuery({
    queryKey: [...modelsKey, 'one', id],
    queryFn: ({ signal }) =>
      read(api.GET('/api/v1/admin/models/{model_id}', { params: { path: { model_id: id } }, signal })),
  });

/** The first page of the providers, from which a filter can choose. */
export const useProviders = () =>
  useQuery({
    queryKey: [...providersKey, 'choice'],
    queryFn: ({ signal }) =>
      read(api.GET('/api/v1/admin/providers', { params: { query: { page_size: 200 } }, signal })),
    placeholderData: keepPreviousData,
  });
