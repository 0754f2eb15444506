import { Link } from '@tanstack/react-router';
import { api, read } from '../../api/client.ts';
import { ListTable, useList } from '../../ui/list.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { Badge, Dash } from '../../ui/values.tsx';
import { lastDayColumns } from './last-day.tsx';
import { type Provider, providersKey } from './models.ts';

/** All providers, with the models that have a route to them. */
export function Providers() {
  const providers = useList(providersKey, (page, signal) =>
    read(api.GET('/api/v1/admin/providers', { params: { query: { page } }, signal })),
  );
  return (
    <ListTable
      caption="Providers"
      columns={columns}
      list={providers}
      rowKey={({ provider_key: key }) => key}
      empty={
        <Empty title="There are no providers">
          <p>Providers are set in the configuration file, under providers.</p>
        </Empty>
      }
    />
  );
}

const columns: readonly Column<Provider>[] = [
  {
    key: 'provider',
    title: 'Provider',
    cell: ({ provider_key: key }) => key,
    text: ({ provider_key: key }) => key,
  },
  { key: 'kind', title: 'Kind', cell: ({ kind }) => kind, text: ({ kind }) => kind },
  {
    key: 'state',
    title: 'State',
    cell: ({ enabled }) =>
      enabled ? <Badge tone="good">enabled</Badge> : <Badge tone="plain">disabled</Badge>,
    text: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
  },
  {
    key: 'host',
    title: 'Host',
    cell: ({ host, endpointb_host: second }) =>
      host === null ? (
        <Dash />
      ) : (
        <>
          {host} {second === null ? null : <span className="muted">and {second}</span>}
        </>
      ),
    text: ({ host }) => host,
  },
  {
    key: 'pricing',
    title: 'Priced as',
    cell: ({ pricing_provider_id: id }) => id,
    text: ({ pricing_provider_id: id }) => id,
  },
  {
    key: 'routes',
    title: 'Routes',
    align: 'end',
    cell: ({ provider_key: key, routes }) => (
      <Link to="/models" search={{ provider: key }} className="number">
        {routes}
      </Link>
    ),
    text: ({ routes }) => routes,
  },
  ...lastDayColumns<Provider>(({ provider_key }) => ({ provider_key })),
];
