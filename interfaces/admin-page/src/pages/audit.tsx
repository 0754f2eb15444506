import { api, read } from '../api/client.ts';
import { useAddress } from '../app/address.ts';
import { filtersNamed } from '../app/words.ts';
import { Drawer } from '../ui/dialog.tsx';
import { faultOf } from '../ui/fields.tsx';
import { ChoiceFilter, FilterChips, TextFilter } from '../ui/filters.tsx';
import { InstantFilter } from '../ui/instant-filter.tsx';
import { ListTable, Opened, useList, useOpened } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import type { Column } from '../ui/table.tsx';
import { Dash, Id, Time } from '../ui/values.tsx';
import { Actor } from './audit/actor.tsx';
import { EventDetail } from './audit/detail.tsx';
import { type AdminEvent, actions, eventQuery, targetKinds } from './audit/events.ts';
import { changedFields } from './audit/difference.ts';
import { TargetLink } from './audit/target-link.tsx';
import { Total } from './owners/list-parts.tsx';

const names = {
  actor_user_id: 'Actor',
  action: 'Action',
  target_kind: 'Kind',
  target_id: 'Id',
  from: 'From',
  to: 'To',
} as const;

const columns: readonly Column<AdminEvent>[] = [
  {
    key: 'at',
    title: 'When (UTC)',
    cell: (event) => <Time at={event.occurred_at} />,
    text: (event) => event.occurred_at,
  },
  {
    key: 'actor',
    title: 'Who',
    cell: (event) => <Actor of={event} />,
    text: (event) => event.actor_user_id ?? 'command line',
  },
  {
    key: 'action',
    title: 'Action',
    cell: (event) => <code>{event.action}</code>,
    text: (event) => event.action,
  },
  { key: 'kind', title: 'Kind', cell: (event) => event.target_kind, text: (event) => event.target_kind },
  {
    key: 'target',
    title: 'Of',
    cell: (event) => <TargetLink event={event} />,
    text: (event) => event.target_id,
  },
  {
    key: 'changed',
    title: 'Fields',
    cell: (event) => <Changed event={event} />,
    text: (event) => changedFields(event).join(' '),
  },
  {
    key: 'address',
    title: 'From address',
    hidden: true,
    cell: (event) => event.remote_address ?? <Dash />,
    text: (event) => event.remote_address,
  },
  {
    key: 'token',
    title: 'API token',
    hidden: true,
    cell: (event) => <Id of={event.admin_token_id} />,
    text: (event) => event.admin_token_id,
  },
];

/** These show their own faults. */
const typedFilters = ['actor_user_id', 'target_id', 'from', 'to'];

const fieldsNamed = 3;

function Changed({ event }: { readonly event: AdminEvent }) {
  const fields = changedFields(event);
  if (fields.length === 0) return <Dash />;
  const more = fields.length - fieldsNamed;
  return (
    <span className="muted">
      {fields.slice(0, fieldsNamed).join(', ')}
      {more > 0 ? ` and ${more} more` : ''}
    </span>
  );
}

/** Who changed what. */
export function Page() {
  const { filters, set } = useAddress();
  const query = filtersNamed(filters, names);
  const events = useList(['admin-events', query], (page, signal) =>
    read(api.GET('/api/v1/admin/events', { params: { query: { ...eventQuery(query), page } }, signal })),
  );
  const fault = (name: string): string | undefined => faultOf(events.error, name);
  const open = filters['open'];
  const opened = useOpened(
    events,
    open,
    ({ admin_event_id: id }) => id,
    'admin-events',
    (id, signal) =>
      read(api.GET('/api/v1/admin/events', { params: { query: { admin_event_id: id } }, signal })),
  );
  const shown = opened.row;
  return (
    <Frame
      title="Audit"
      facts={
        events.data === undefined ? undefined : (
          <>
            <Total of={events} one="change" many="changes" />. An event is written with its change, and is
            never changed or deleted.
          </>
        )
      }
      filters={
        <>
          <ChoiceFilter name="action" label="Action" options={actions.map((each) => [each, each])} />
          <ChoiceFilter name="target_kind" label="Kind" options={targetKinds.map((each) => [each, each])} />
          <TextFilter name="target_id" label="Id of what was changed" isWide error={events.error} />
          <TextFilter name="actor_user_id" label="Actor's user id" isWide error={events.error} />
          <InstantFilter name="from" label="From (UTC)" fault={fault('from')} />
          <InstantFilter name="to" label="To (UTC, exclusive)" fault={fault('to')} />
        </>
      }
    >
      <FilterChips names={names} />
      <ListTable
        caption="Audit"
        columns={columns}
        list={events}
        typedFilters={typedFilters}
        rowKey={({ admin_event_id: id }) => id}
        onOpen={({ admin_event_id: id }) => set({ open: id })}
        openKey={open}
        empty={
          Object.keys(query).length === 0 ? (
            <Empty title="Nothing has been changed yet">
              <p>Each change made through this page, the admin API or the command line is recorded here.</p>
            </Empty>
          ) : (
            <Empty title="No change matches these filters" />
          )
        }
      />
      {open === undefined ? null : (
        <Drawer
          title={shown === undefined ? 'Change' : shown.action}
          onClose={() => set({ open: undefined })}
        >
          <Opened opened={opened} what="change">
            {(event) => <EventDetail event={event} />}
          </Opened>
        </Drawer>
      )}
    </Frame>
  );
}
