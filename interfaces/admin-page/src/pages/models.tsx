import { api, read } from '../api/client.ts';
import { useAddress } from '../app/address.ts';
import { flagOf } from '../app/words.ts';
import { ChoiceFilter, FilterChips, TextFilter } from '../ui/filters.tsx';
import { ListTable, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import type { Column } from '../ui/table.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { Badge, Dash } from '../ui/values.tsx';
import { ModelDrawer } from './models/drawer.tsx';
import { lastDayColumns } from './models/last-day.tsx';
import {
  capabilitiesOf,
  capabilityTitles,
  type Model,
  modelsKey,
  priceText,
  type Route,
  usable,
  useProviders,
} from './models/models.ts';
import { Providers } from './models/providers.tsx';

/** Models with their routes, and the providers behind them. They are changed in the configuration file. */
export function Page() {
  const { filters, set } = useAddress();
  const open = filters['open'];
  return (
    <Frame
      title="Models"
      facts="Models, routes and providers are changed in the configuration file; this page shows what is in force now."
    >
      <Tabs
        label="What is listed"
        tabs={[
          { name: 'Models', body: <Models onOpen={(id) => set({ open: id })} open={open} /> },
          { name: 'Providers', body: <Providers /> },
        ]}
        chosen={filters['view'] === 'providers' ? 1 : 0}
        onChoose={(index) => set({ view: index === 0 ? undefined : 'providers', page: undefined })}
      />
      {open === undefined ? null : <ModelDrawer id={open} onClose={() => set({ open: undefined })} />}
    </Frame>
  );
}

function Models({
  open,
  onOpen,
}: {
  readonly open: string | undefined;
  readonly onOpen: (id: string) => void;
}) {
  const { filters } = useAddress();
  const providers = useProviders();
  const { model, provider, enabled } = filters;
  const models = useList([...modelsKey, model, provider, enabled], (page, signal) => {
    const isEnabled = flagOf('enabled', enabled);
    return read(
      api.GET('/api/v1/admin/models', {
        params: {
          query: {
            page,
            ...(model === undefined ? {} : { model }),
            ...(provider === undefined ? {} : { provider }),
            ...(isEnabled === undefined ? {} : { enabled: isEnabled }),
          },
        },
        signal,
      }),
    );
  });
  const isFiltered = model !== undefined || provider !== undefined || enabled !== undefined;
  return (
    <>
      <div className="filters">
        <TextFilter name="model" label="Full model id" isWide />
        <ChoiceFilter
          name="provider"
          label="Provider"
          options={(providers.data?.items ?? []).map(({ provider_key: key }) => [key, key] as const)}
        />
        <ChoiceFilter
          name="enabled"
          label="State"
          options={[
            ['true', 'Enabled'],
            ['false', 'Disabled'],
          ]}
        />
      </div>
      <FilterChips names={{ model: 'Model', provider: 'Provider', enabled: 'Enabled' }} />
      <ListTable
        caption="Models"
        columns={columns}
        list={models}
        rowKey={({ model_key: key }) => key}
        openKey={open}
        onOpen={({ model_key: key }) => onOpen(key)}
        empty={<NoModels isFiltered={isFiltered} />}
      />
    </>
  );
}

const NoModels = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No model matches">
      <p>Remove a filter. The model id must be complete; the search finds parts of it.</p>
    </Empty>
  ) : (
    <Empty title="There are no models">
      <p>Add one to the configuration file:</p>
      <pre>{'models:\n  - { id: fast, routes: [{ provider: up, upstream_model: some-model }] }'}</pre>
    </Empty>
  );

const columns: readonly Column<Model>[] = [
  {
    key: 'model',
    title: 'Model',
    cell: ({ model_key: key, enabled }) => (
      <>
        {key} {enabled ? null : <Badge tone="plain">disabled</Badge>}
      </>
    ),
    text: ({ model_key: key }) => key,
  },
  {
    key: 'first',
    title: 'First route',
    cell: ({ routes }) => {
      const [first] = usable(routes);
      return first === undefined ? (
        <Badge tone="warn">none is enabled</Badge>
      ) : (
        `${first.provider_key} → ${first.upstream_model}`
      );
    },
    text: ({ routes }) => usable(routes)[0]?.provider_key,
  },
  {
    key: 'routes',
    title: 'Routes',
    align: 'end',
    cell: ({ routes }) => <RoutesCount of={routes.length} usable={usable(routes).length} />,
    text: ({ routes }) => routes.length,
  },
  {
    key: 'price',
    title: 'USD for a million tokens',
    cell: ({ routes }) => <Price of={usable(routes)} />,
    text: ({ routes }) => {
      const [first] = usable(routes);
      return first === undefined ? null : (priceText(first) ?? 'unpriced');
    },
  },
  {
    key: 'capabilities',
    title: 'Capabilities',
    cell: ({ routes }) => canDo(routes),
    text: ({ routes }) => canDo(routes),
  },
  ...lastDayColumns<Model>(({ model_key }) => ({ model_key })),
];

const RoutesCount = ({ of, usable: left }: { readonly of: number; readonly usable: number }) => (
  <span className="number">{of === left ? of : `${left} of ${of}`}</span>
);

/** The price of the first route that a request takes, and how many routes have no price. */
function Price({ of: routes }: { readonly of: readonly Route[] }) {
  const [first] = routes;
  if (first === undefined) return <Dash />;
  const unpriced = routes.filter(({ priced }) => !priced).length;
  return (
    <>
      {priceText(first)}{' '}
      {unpriced === 0 ? null : (
        <Badge tone="warn">{unpriced === routes.length ? 'unpriced' : `${unpriced} unpriced`}</Badge>
      )}
    </>
  );
}

/** What at least one of the usable routes can do, phrased by what is missing, because that is what people look for. */
function canDo(routes: readonly Route[]): string {
  const all = usable(routes).map(capabilitiesOf);
  const can = new Set(all.flat().flatMap(({ effective, title }) => (effective ? [title] : [])));
  const cannot = Object.values(capabilityTitles).filter((title) => !can.has(title));
  if (can.size === 0) return 'nothing';
  if (cannot.length === 0) return 'everything';
  return cannot.length <= can.size ? `all but ${cannot.join(', ')}` : [...can].join(', ');
}
