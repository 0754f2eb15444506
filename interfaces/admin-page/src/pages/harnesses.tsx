import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, type ResponseData, read } from '../api/client.ts';
import { useAddress } from '../app/address.ts';
import { requestsColumn } from '../ui/columns.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { bucketText, endOfBucket, LogsSince, RangeFilter, rangeOf } from '../ui/range.tsx';
import type { Point } from '../ui/series.ts';
import { Stacked } from '../ui/stacked.tsx';
import { Empty } from '../ui/states.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { ofWindow, RequestsLink } from '../ui/things.tsx';
import { Time } from '../ui/values.tsx';

type Usage = ResponseData<'/api/v1/admin/observability/harness-usage'>;

/** The programs that send the requests, by their `User-Agent`. */
export function Page() {
  const { filters } = useAddress();
  const found = useQuery({
    queryKey: ['harness-usage', filters['range']],
    queryFn: ({ signal }) =>
      read(
        api.GET('/api/v1/admin/observability/harness-usage', {
          params: { query: { range: rangeOf(filters['range']) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
  const { data } = found;
  return (
    <Frame
      title="Harnesses"
      facts={
        data === undefined ? undefined : (
          <>
            The programs that sent requests from <Time at={data.window_start} /> to{' '}
            <Time at={data.window_end} /> (UTC), as they name themselves. Counted from the request logs that
            are still kept
            <LogsSince at={data.logs_since} />.
          </>
        )
      }
      filters={<RangeFilter />}
    >
      <Loaded query={found} what="the harnesses">
        {(data) =>
          data.leaders.length === 0 ? (
            <Empty title="No request was logged in this period">
              <p>
                Point an agent at the gateway: its <code>User-Agent</code> says which one it is.
              </p>
            </Empty>
          ) : (
            <Programs usage={data} />
          )
        }
      </Loaded>
    </Frame>
  );
}

function Programs({ usage }: { readonly usage: Usage }) {
  const window = ofWindow(usage);
  const columns: readonly Column<Usage['leaders'][number]>[] = [
    { key: 'rank', title: 'Rank', cell: ({ rank }) => rank, text: ({ rank }) => rank },
    {
      key: 'label',
      title: 'Program',
      cell: ({ agent_harness_label: label }) => label,
      text: ({ agent_harness_label: label }) => label,
    },
    {
      key: 'key',
      title: 'Key',
      cell: ({ agent_harness_key: key }) => <code>{key}</code>,
      text: ({ agent_harness_key: key }) => key,
    },
    requestsColumn(
      ({ request_count: count }) => count,
      ({ agent_harness_key }) => ({ agent_harness_key, ...window }),
    ),
  ];
  return (
    <>
      <Stacked
        label="Requests of the first five"
        unit="requests in 12 hours"
        when="From"
        series={usage.chart_harnesses.map((each) => ({
          key: each.agent_harness_key,
          name: each.agent_harness_label,
        }))}
        points={usage.series.map(
          ({ bucket_start: start, values }): Point => ({
            key: start,
            tick: bucketText(start),
            title: `12 hours from ${bucketText(start)}`,
            parts: values.map(({ request_count: count }) => ({ height: count, text: String(count) })),
          }),
        )}
        linkOf={({ key }) => (
          <RequestsLink where={{ from: key, to: endOfBucket(key) }}>{bucketText(key)}</RequestsLink>
        )}
      />
      <Table
        caption="Harness usage"
        columns={columns}
        rows={usage.leaders}
        rowKey={({ agent_harness_key: key }) => key}
        empty={null}
      />
    </>
  );
}
