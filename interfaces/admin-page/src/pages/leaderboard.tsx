import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, type ResponseData, read } from '../api/client.ts';
import { useAddress } from '../app/address.ts';
import { grouped } from '../ui/amounts.ts';
import { requestsColumn, spendColumn } from '../ui/columns.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { bucketText, endOfBucket, LogsSince, RangeFilter, rangeOf } from '../ui/range.tsx';
import type { Point } from '../ui/series.ts';
import { Stacked } from '../ui/stacked.tsx';
import { Empty } from '../ui/states.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { inLedger, ModelLink, ofWindow, OwnerLink, RequestsLink } from '../ui/things.tsx';
import { Dash, NotAvailable, Time } from '../ui/values.tsx';

type Board = ResponseData<'/api/v1/admin/observability/leaderboard'>;
type Leader = Board['leaders'][number];

/** The people with the highest spend. */
export function Page() {
  const { filters } = useAddress();
  const found = useQuery({
    queryKey: ['leaderboard', filters['range']],
    queryFn: ({ signal }) =>
      read(
        api.GET('/api/v1/admin/observability/leaderboard', {
          params: { query: { range: rangeOf(filters['range']) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
  const { data } = found;
  return (
    <Frame
      title="Leaderboard"
      facts={
        data === undefined ? undefined : (
          <>
            The people with the highest spend from <Time at={data.window_start} /> to{' '}
            <Time at={data.window_end} /> (UTC). Tool averages are from the request logs that are still kept
            <LogsSince at={data.logs_since} />.
          </>
        )
      }
      filters={<RangeFilter />}
    >
      <Loaded query={found} what="the leaderboard">
        {(data) =>
          data.leaders.length === 0 ? (
            <Empty title="Nobody sent a request in this period">
              <p>A request with a person's key puts the person on the board.</p>
            </Empty>
          ) : (
            <Board board={data} />
          )
        }
      </Loaded>
    </Frame>
  );
}

function Board({ board }: { readonly board: Board }) {
  const window = ofWindow(board);
  return (
    <>
      <Stacked
        label="Spend of the first five"
        unit="USD in 12 hours"
        when="From"
        series={board.chart_users.map((user) => ({ key: user.user_id, name: user.user_name }))}
        points={board.series.map(
          ({ bucket_start: start, values }): Point => ({
            key: start,
            tick: bucketText(start),
            title: `12 hours from ${bucketText(start)}`,
            parts: values.map(({ spend_usd: usd }) => ({ height: Number(usd), text: usd })),
          }),
        )}
        linkOf={({ key }) => (
          <RequestsLink where={{ from: key, to: endOfBucket(key), owner_kind: 'user', ...inLedger }}>
            {bucketText(key)}
          </RequestsLink>
        )}
      />
      <Table
        caption="Leaderboard"
        columns={columnsFor(window)}
        rows={board.leaders}
        rowKey={({ user_id: id }) => id}
        empty={null}
      />
    </>
  );
}

const average = (
  key: keyof Leader['tool_cardinality_averages'],
  title: string,
  hidden = false,
): Column<Leader> => ({
  key,
  title,
  align: 'end',
  hidden,
  cell: ({ tool_cardinality_averages: found }) =>
    found[key] === null ? <NotAvailable /> : <span className="number">{grouped(found[key].toFixed(2))}</span>,
  text: ({ tool_cardinality_averages: found }) => found[key] ?? 'n/a',
});

const columnsFor = (window: Readonly<Record<string, string>>): readonly Column<Leader>[] => [
  { key: 'rank', title: 'Rank', cell: ({ rank }) => rank, text: ({ rank }) => rank },
  {
    key: 'user',
    title: 'Person',
    cell: ({ user_id, user_name }) => (
      <OwnerLink owner={{ owner_kind: 'user', owner_id: user_id, owner_name: user_name }} />
    ),
    text: ({ user_name: name }) => name,
  },
  spendColumn,
  requestsColumn(
    ({ total_requests: total }) => total,
    ({ user_id }) => ({ user_id, ...window, ...inLedger }),
  ),
  {
    key: 'model',
    title: 'Most used model',
    cell: ({ dominant_model: model }) => (model === null ? <Dash /> : <ModelLink model={model} />),
    text: ({ dominant_model: model }) => model,
  },
  average('exposed_tool_count', 'Tools exposed'),
  average('invoked_tool_count', 'Tools invoked'),
  average('filtered_tool_count', 'Tools filtered', true),
  average('referenced_mcp_server_count', 'MCP servers', true),
];
