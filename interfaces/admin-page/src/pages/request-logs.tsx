import { useCallback } from 'react';
import { grouped } from '../ui/amounts.ts';
import { api, read } from '../api/client.ts';
import { gatewayNow } from '../api/clock.ts';
import { type Filters, useAddress } from '../app/address.ts';
import { FirstRequest } from '../ui/first-request.tsx';
import { FilterChips } from '../ui/filters.tsx';
import { NoRows, pageOfMany, Pager, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { Table } from '../ui/table.tsx';
import { RequestDrawer } from './request-log/drawer.tsx';
import { requestColumns } from './request-logs/columns.tsx';
import { LiveTailControls, useLiveTail } from './request-logs/live-tail.tsx';
import { RequestFilters, typedFilters } from './request-logs/more-filters.tsx';
import { rangeOf, ranges } from './request-logs/ranges.ts';
import { chipTitles, requestQuery, requestFilters, turnedRound } from './request-logs/request-filters.ts';
import { useNames } from './request-logs/seen-names.ts';
import type { LoggedRow } from './request-logs/request-log.ts';
import { SavedViews } from './request-logs/saved-views.tsx';
import { TimeFilter } from './request-logs/time-range.tsx';

/** Request logs: found by any filter, followed live, opened at the side. */
export function Page() {
  const { filters, set } = useAddress();
  const chosen = requestFilters(filters);
  const list = useList<LoggedRow>(['request-logs', chosen], (page, signal) =>
    read(
      api.GET('/api/v1/admin/observability/request-logs', {
        params: { query: { ...requestQuery(chosen, gatewayNow()), page } },
        signal,
      }),
    ),
  );
  const { refetch } = list;
  const readAgain = useCallback(() => void refetch({ cancelRefetch: false }), [refetch]);
  const openId = filters['open'];
  const tail = useLiveTail({
    isOn: filters['live'] === 'on',
    isFirstPage: filters['page'] === undefined,
    isOpen: openId !== undefined,
    readAt: list.dataUpdatedAt,
    readAgain,
  });
  const rows = list.data?.items;
  const nameOf = useNames(rows ?? []);
  return (
    <Frame
      title="Requests"
      facts={<Facts list={list.data} isStale={list.isPlaceholderData} filters={filters} />}
      actions={
        <>
          <LiveTailControls
            tail={tail}
            turn={(on) => set({ live: on ? 'on' : undefined, ...(on ? { page: undefined } : {}) })}
          />
          <SavedViews filters={chosen} />
        </>
      }
      filters={
        <>
          <TimeFilter error={list.error} />
          <RequestFilters rows={rows ?? []} error={list.error} />
        </>
      }
    >
      <FilterChips names={chipNames(filters)} says={nameOf} turnedRound={turnedRound} />
      <div {...tail.listProps}>
        <Table
          caption="Requests"
          columns={requestColumns}
          rows={rows}
          csvPage={pageOfMany(list.data)}
          isStale={list.isPlaceholderData}
          rowKey={(log) => log.request_log_id}
          onOpen={(log) => set({ open: log.request_log_id })}
          openKey={openId}
          error={list.error}
          typedFilters={typedFilters}
          again={() => void list.refetch()}
          empty={
            <NoRows list={list.data} empty={<NoRequests isFiltered={Object.keys(chosen).length > 0} />} />
          }
        />
      </div>
      <Pager list={list.data} />
      {openId === undefined ? null : (
        <RequestDrawer requestLogId={openId} onClose={() => set({ open: undefined })} />
      )}
    </Frame>
  );
}

function Facts({
  list,
  isStale,
  filters,
}: {
  readonly list: { readonly total: number; readonly total_is_lower_bound: boolean } | undefined;
  readonly isStale: boolean;
  readonly filters: Filters;
}) {
  if (list === undefined) return null;
  const range = rangeOf(filters);
  // Reports count unlogged requests all the same.
  const isCounted = filters['in_ledger'] === 'true' || filters['pricing_status'] !== undefined;
  const label = ranges.find(({ key }) => key === range)?.label.replace('Last', 'the last');
  const within =
    label === undefined
      ? range === 'all'
        ? list.total === 1
          ? ' that is kept'
          : ' that are kept'
        : ''
      : ` of ${label}`;
  return (
    <>
      {list.total_is_lower_bound ? 'More than ' : ''}
      {grouped(list.total)} {list.total === 1 ? 'request' : 'requests'}
      {within}, newest first{isCounted ? '; requests that are not logged appear only in the reports' : ''}
      {isStale ? '; refreshing…' : ''}
    </>
  );
}

/** Half a tag filters nothing. */
function chipNames(filters: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const isHalf = filters['tag_key'] === undefined || filters['tag_value'] === undefined;
  return Object.fromEntries(
    Object.entries(chipTitles).filter(([name]) => !isHalf || !name.startsWith('tag_')),
  );
}

const NoRequests = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No request matches all filters">
      <p>Remove a filter above, or choose a longer time range.</p>
    </Empty>
  ) : (
    <Empty title="No request has been logged yet">
      <p>Requests through the gateway are listed here. Send one:</p>
      <FirstRequest />
      <p className="muted">
        Nothing is logged with capture_mode: disabled, nor for people whose logging is turned off.
      </p>
    </Empty>
  );
